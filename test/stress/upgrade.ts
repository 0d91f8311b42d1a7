/**
 * Upgrades a store of version 1.0.0 and checks that nothing is lost. test/robustness/upgrade.test.ts also kills the
 * upgrade at each system call.
 */
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, operatorOf, startService } from '../support/process.ts';
import { same } from './failures.ts';
import type { StressTest } from './stress-test.ts';
import { digestOf, isUpgraded, type OldStore, pageText, writeStore } from './upgrade-store.ts';

/** Maximum number of animals whose contents are compared. In larger stores, animals are only counted. */
const mostDigested = 1_000_000;

/** Throws unless the file is intact and contains every animal. */
export function checkFile(folder: string, { animals, digest }: OldStore): void {
  const path = dataFileIn(folder);
  const [row] = rowsOf<{ count: number }>(path, 'SELECT count(*) AS count FROM pets');
  same('the number of animals', row?.count, animals);
  if (animals > mostDigested) return;
  same('the soundness', JSON.stringify(rowsOf(path, 'PRAGMA integrity_check')), '[{"integrity_check":"ok"}]');
  same('the digest of all animals', digestOf(path), digest);
}

/**
 * Starts the service, which upgrades the store, and checks its responses. Returns the time in ms until the service was
 * ready.
 */
export async function upgradeStore(folder: string, store: OldStore): Promise<number> {
  const from = performance.now();
  await using service = await startService(folder, { DRAIN_SECONDS: '0', LOG_LEVEL: 'warn' });
  const tookMs = performance.now() - from;
  same('whether it is upgraded', isUpgraded(dataFileIn(folder)), true);
  checkFile(folder, store);
  await checkAnswers(service.url, folder, store);
  await checkCounts(service.url, folder, store);
  return tookMs;
}

/** Checks that clients of 1.0.0 get the same animals and have the same scopes. */
async function checkAnswers(url: string, folder: string, store: OldStore): Promise<void> {
  const { animals, key } = store;
  const path = dataFileIn(folder);
  const client = clientOf(url, key);
  const pages: [target: string, where: string][] = [
    ['/pets', '1'],
    ['/pets?status=sold', "status = 'sold'"],
    [`/pets?cursor=${Buffer.from(`.${animals - 7}`).toString('base64url')}`, `id > ${animals - 7}`],
    [
      `/pets?status=available&cursor=${Buffer.from(`available.${animals >> 1}`).toString('base64url')}`,
      `status = 'available' AND id > ${animals >> 1}`,
    ],
  ];
  for (const [target, where] of pages) {
    const { status, text } = await client.get(target);
    same(`${target} (${status})`, text, pageText(path, where));
  }
  const { text } = await client.get(`/pets/${animals}`);
  same('the last animal', `[${text}]`, pageText(path, `id = ${animals}`));
  for (const target of ['/orders', '/orders/1']) {
    same(`the status of ${target} with an old key`, (await client.get(target)).status, 403);
  }
  await using operator = await operatorOf(folder);
  for (const { scopes } of await operator.storage.keys.list(0, 100)) {
    same('the scopes of an old key', scopes.join(' '), 'pets:read pets:create');
  }
}

/** Checks that the inventory equals a full count of the animals. */
async function checkCounts(url: string, folder: string, { animals, key }: OldStore): Promise<void> {
  const path = dataFileIn(folder);
  const client = clientOf(url, key);
  const counts = rowsOf<{ status: string; count: number }>(
    path,
    'SELECT status, count(*) AS count FROM pets GROUP BY status',
  );
  const count = (status: string) => counts.find((row) => row.status === status)?.count ?? 0;
  const expected = `{"available":${count('available')},"pending":${count('pending')},"sold":${count('sold')}}`;
  same('the inventory', (await client.get('/inventory')).text, expected);
  const { status, text } = await client.add('next');
  same('a create request', `${status} ${/^\{"id":\d+/.exec(text)?.[0]}`, `201 {"id":${animals + 1}`);
}

export const upgrade: StressTest = {
  name: 'upgrade',
  promise:
    'a store of version 1.0.0 is upgraded in place the first time the service starts: animals and key scopes are unchanged ' +
    '(rounds: animals)',
  rounds: 10_000_000,
  async run({ rounds, progress }) {
    await using folder = await temporaryFolder();
    progress(`writing ${rounds} animals`);
    const store = await writeStore(folder.path, rounds);
    return { 'first start in ms, including the upgrade': Math.round(await upgradeStore(folder.path, store)) };
  },
};
