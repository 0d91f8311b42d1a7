/** A worker reads the embedded store while another process commits. */
import { expect, test } from 'bun:test';
import { openStore } from '../../src/app/store.ts';
import { systemClock } from '../../src/domain/clock.ts';
import { StoreUnusableError } from '../../src/outages/errors.ts';
import { strictRules } from '../storage/place.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, makeStore, program, settingsIn, startService } from '../support/process.ts';

const unusedPort = { post: () => undefined, listen: () => undefined };
const worker = { number: 1, workers: 2, port: unusedPort };

function openAsWorker(folder: string) {
  return openStore({
    url: `sqlite:${dataFileIn(folder)}`,
    clock: systemClock(),
    rules: strictRules,
    isServing: true,
    create: false,
    worker,
  });
}

/** Creates an account in another process, within the current event-loop tick. */
function createAccount(folder: string, name: string): void {
  const command = [...program, 'accounts', 'create', '--name', name, '--plan', 'free'];
  const { exitCode, stderr } = Bun.spawnSync(command, { env: { ...process.env, ...settingsIn(folder) } });
  if (exitCode !== 0) throw new Error(stderr.toString());
}

test("a worker sees another process's commit within the same event-loop tick", async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  await using _service = await startService(folder.path);
  await using store = await openAsWorker(folder.path);
  const names = () => store.accounts.list(undefined, 10);
  // There is no await between these statements, so they run in a single tick.
  const before = names();
  createAccount(folder.path, 'during the tick');
  const after = names();
  expect(await before).not.toContainEqual(expect.objectContaining({ name: 'during the tick' }));
  expect(await after).toContainEqual(expect.objectContaining({ name: 'during the tick' }));
});

test('a worker without a supervisor refuses to open the store', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  await expect(openAsWorker(folder.path)).rejects.toThrow(StoreUnusableError);
});
