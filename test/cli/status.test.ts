/** Problems in the output of `animal-store status`. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import type { Concern } from '../../src/contract/admin/system.ts';
import { hourMs } from '../../src/domain/clock.ts';
import { stoppedAt } from '../../src/operations/observability/usage-recorder.ts';
import { encryptSecret } from '../../src/webhooks/secrets.ts';
import { newWorkplace } from '../support/cli.ts';
import { operatorOf } from '../support/process.ts';
import { newReport } from '../support/usage.ts';
import { addWebhook } from '../support/webhooks.ts';

const keyOf = (byte: number) => Buffer.alloc(32, byte);

test('status lists problems first, most severe at the top, and exits with code 0', async () => {
  await using place = await newWorkplace();
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  const secret = encryptSecret('whsec_AAAA', [keyOf(1)], (count) => new Uint8Array(count));
  await addWebhook(`sqlite:${place.path('store.db')}`, { accountId: 1, secret });
  {
    await using operator = await operatorOf(place.folder);
    const instance = { name: 'lost', version: '1.1.0', startedAt: 1_000, seenAt: 2_000 };
    const number = newReport(operator.clock.now());
    const [minutes, keys, latencies] = [[], [], []];
    await operator.storage.write('recordUsage', { minutes, keys, latencies, number, instance });
  }
  const status = async (key: Buffer, ...options: string[]) =>
    place.run(['status', ...options], { environment: { SECRETS_KEY: key.toString('base64') } });
  const { stdout, exitCode, stderr } = await status(keyOf(2));
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toStartWith(
    'Requests to 1 webhook cannot be signed, because SECRETS_KEY does not include the key used to encrypt their secrets.\nSet SECRETS_KEY to the missing key',
  );
  const lost =
    'Instance lost was last seen at 1970-01-01T00:00:02.000Z. It was killed, or cannot write to the store.';
  expect(stdout.indexOf('STORE')).toBeGreaterThan(stdout.indexOf(`${lost}\nCheck its machine`));
  expect(stdout).toContain(lost);
  const whats = async (key: Buffer) => {
    const { concerns } = JSON.parse((await status(key, '--json')).stdout) as { concerns: Concern[] };
    // Ignores machine-specific problems, such as free disk space.
    return concerns.map(({ what }) => what).filter((what) => /SECRETS_KEY|Instance/.test(what));
  };
  expect(await whats(keyOf(2))).toEqual([expect.stringContaining('SECRETS_KEY'), lost]);
  // The command with the wrong key changed nothing, so the right key still works.
  expect(await whats(keyOf(1))).toEqual([lost]);
});

test('an instance that was stopped cleanly is shown as stopped, without the time of a heartbeat', async () => {
  await using place = await newWorkplace();
  {
    await using operator = await operatorOf(place.folder);
    const instance = { name: 'ended', version: '1.1.0', startedAt: 1_000, seenAt: stoppedAt };
    const number = newReport(operator.clock.now());
    const [minutes, keys, latencies] = [[], [], []];
    await operator.storage.write('recordUsage', { minutes, keys, latencies, number, instance });
  }
  expect(await place.output('status')).toMatch(/^ended +1\.1\.0 +1970-01-01T00:00:01Z +stopped$/m);
  expect(await place.json('status', '--json')).toMatchObject({
    instances: [{ name: 'ended', seenAt: null }],
  });
});

test('event ids are shown in the form that events list --after expects', async () => {
  await using place = await newWorkplace();
  {
    using database = new Database(place.path('store.db'));
    database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 1795816587923083)");
  }
  for (const name of ['first', 'second'])
    await place.json('import', await place.write(`${name}.csv`, `name,categoryId\n${name},1\n`));
  const [, oldest = ''] = /^Oldest retained +(\S+), /m.exec(await place.output('status')) ?? [];
  expect(await place.json('events', 'list', '--after', oldest)).toHaveLength(1);
});

test('an overdue scheduled backup is a problem', async () => {
  await using place = await newWorkplace();
  await mkdir(place.path('backups'));
  const environment = { BACKUP_FOLDER: place.path('backups'), BACKUP_EVERY: '2h' };
  const problems = async () => {
    const { exitCode, stdout } = await place.run(['status', '--json'], { environment });
    expect(exitCode).toBe(0);
    const { concerns } = JSON.parse(stdout) as { concerns: Concern[] };
    return concerns.map(({ what }) => what).filter((what) => what.includes('backup'));
  };
  const backUpAt = (ms: number) => {
    const time = new Date(ms).toISOString().replace(/:(\d\d):(\d\d)\..*/, '$1$2Z');
    return place.output('backup', `backups/store-${time}.backup`);
  };
  expect(await problems()).toEqual([
    expect.stringMatching(/^There is no backup in .*backups, so .* overdue/),
  ]);
  await backUpAt(Date.now() - 3 * hourMs);
  expect(await problems()).toEqual([expect.stringMatching(/^The latest backup is from 2\S+Z in .* overdue/)]);
  await backUpAt(Date.now() - hourMs);
  expect(await problems()).toEqual([]);
});
