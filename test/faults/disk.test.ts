import { expect } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { scopes } from '../../src/domain/scope.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
  ample,
  dataFileIn,
  issueKey,
  limitFileIn,
  operatorOf,
  serveCommand,
  settingsIn,
  start,
  startService,
} from '../support/process.ts';
import { untilReady } from '../support/ready.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import {
  addAll,
  expectStored,
  expectUnavailable,
  fileSizeLimits,
  fillDisk,
  limitFileSize,
  onSmallDisk,
  smallDisks,
} from './disk.ts';

const testLimited = testWith(...fileSizeLimits);
// A file size limit causes EFBIG, not ENOSPC, so some tests use a disk that is really full.
const testSmallDisk = testWith(...smallDisks);

function namesOf(round: number): string[] {
  return Array.from({ length: 25 }, (_, index) => `${round}-${index}`);
}

testLimited(
  'while the disk rejects writes, reads succeed, and create requests get 503 and do not count against the limit; the service recovers and logs two lines per outage',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path);
    const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
    const { stored } = await addAll(client, namesOf(0));

    const wal = `${dataFileIn(folder.path)}-wal`;
    // These file size limits let the WAL grow by at most two frames. A partial write must never become visible.
    for (const [round, extraBytes] of [-Infinity, 0, 1, 100, 4_200, 8_240].entries()) {
      const before = (await client.get('/pets?limit=1')).remaining;
      limitFileSize(service.pid, Math.max(0, statSync(wal).size + extraBytes));
      const { refused } = await addAll(client, namesOf(round + 1));
      expect(refused.length).toBe(25);
      for (const reply of refused) expect(reply.status).toBe(503);

      const list = await client.get('/pets?limit=100');
      expect([list.status, JSON.parse(list.text).length]).toEqual([200, stored.size]);
      expect(list.remaining).toBe(before - 1);
      expectUnavailable(await client.add('refused'), before - 1);
      expect((await client.get(`/pets/${stored.get('0-7')}`)).status).toBe(200);
      expect((await client.get('/pets/999999')).status).toBe(404);
      expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'degraded' });

      limitFileSize(service.pid, 'unlimited');
      for (const [name, id] of (await addAll(client, [`healed ${round}`])).stored) stored.set(name, id);
      expect(stored.has(`healed ${round}`)).toBe(true);
      await untilReady(service.url);
    }
    expectStored(folder.path, stored);
    // The log is written asynchronously.
    await until(() => service.stderr().match(/animal storage available again/g)?.length === 6);
    service.signal('SIGKILL');
    await service.exited;
    const lines = service.stderr().trim().split('\n');
    const outages = lines.map((line) => JSON.parse(line)).filter(({ part }) => part === 'animal storage');
    const outage = [
      ['degraded: animal storage unavailable', undefined],
      ['animal storage available again', 26],
    ];
    expect(outages.map(({ msg, refused }) => [msg.replace(/: SQLITE.*/, ''), refused])).toEqual(
      Array.from({ length: 6 }, () => outage).flat(),
    );
    await using again = await startService(folder.path);
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200);
    expectStored(folder.path, stored);
  },
);

testSmallDisk(
  'while the disk is full, create requests get 503 and reads succeed, and the service recovers afterwards',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, {}, onSmallDisk(folder.path, 'rw', serveCommand));
    const client = clientOf(service.url, service.firstKey ?? '');
    const names = ['one', 'two', 'three'];
    const { stored } = await addAll(client, names);
    expect(stored.size).toBe(3);
    for (let round = 0; round < 3; round++) {
      const free = fillDisk(service.pid, folder.path);
      for (const name of ['four', 'five']) expectUnavailable(await client.add(name));
      const list = await client.get('/pets');
      expect(list.status).toBe(200);
      expect(JSON.parse(list.text).map(({ name }: { name: string }) => name)).toEqual(names);
      expect((await client.get('/pets/2')).status).toBe(200);
      free();
      names.push(`healed ${round}`);
      expect((await client.add(`healed ${round}`)).status).toBe(201);
    }
    const pets = JSON.parse((await client.get('/pets')).text) as { id: number; name: string }[];
    expect(pets.map(({ id, name }) => [id, name])).toEqual(names.map((name, index) => [index + 1, name]));
  },
);

/** Issues keys for two new accounts. Extending the limit file once makes room for both. */
async function keysBeyond(folder: string): Promise<string[]> {
  rowsOf(dataFileIn(folder), "UPDATE sqlite_sequence SET seq = 50000 WHERE name = 'accounts'");
  return [await issueKey(folder, 'pro'), await issueKey(folder, 'pro')];
}

testLimited('a request that changes nothing does not end the outage of a full disk', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const key = await issueKey(folder.path, 'enterprise', ample, scopes);
  const client = clientOf(service.url, key);
  const id = JSON.parse((await client.add('stored')).text).id;
  const rename = async () =>
    (
      await fetch(`${service.url}/v1/pets/${id}`, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/merge-patch+json' },
        body: '{"name":"stored"}',
      })
    ).status;
  expect(await rename()).toBe(200);
  limitFileSize(service.pid, 0);
  expectUnavailable(await client.add('refused'));
  expect(await rename()).toBe(503);
  expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'degraded' });
  limitFileSize(service.pid, 'unlimited');
  expect(await rename()).toBe(200);
  await untilReady(service.url);
});

testLimited(
  'while the limit file cannot grow, accounts that need more space get 503 and other requests succeed; the service recovers afterwards',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const first = clientOf(service.url, service.firstKey ?? '');
    {
      await using operator = await operatorOf(folder.path);
      await operator.accounts.update(1, { plan: 'enterprise', custom: { perMinute: 5, perDay: 5 } });
    }
    const [one = '', other = ''] = await keysBeyond(folder.path);
    limitFileSize(service.pid, statSync(limitFileIn(folder.path)).size);
    for (const key of [one, other, one]) {
      const { status, text } = await clientOf(service.url, key).get('/pets');
      expect([status, JSON.parse(text).code]).toEqual([503, 'service_unavailable']);
    }
    // Recording a key's first penalty also needs space, but rejecting the request does not.
    const statuses: number[] = [];
    for (let request = 0; request < 6; request++) statuses.push((await first.get('/pets')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({
      status: 'degraded',
      trouble: [troubles.limitFile],
    });
    limitFileSize(service.pid, 'unlimited');
    await untilReady(service.url);
    expect((await clientOf(service.url, one).get('/pets')).remaining).toBe(299);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    const lines = service.stderr().trim().split('\n');
    const outage = lines.map((line) => JSON.parse(line)).filter(({ part }) => part === 'limit storage');
    expect(outage.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^degraded: limit storage unavailable: EFBIG/),
      'limit storage available again',
    ]);
  },
);

testSmallDisk(
  'a disk that fills up while the limit file grows is reported, and the process survives',
  async () => {
    await using folder = await temporaryFolder();
    const program = [process.execPath, join(import.meta.dir, 'fill-limits.ts'), folder.path];
    await using filling = start(onSmallDisk(folder.path, 'rw', program));
    expect([await filling.exited, filling.stderr()]).toEqual([0, '']);
    const { served, remaining, reasons, notices, files } = JSON.parse(filling.stdout());
    expect(served.length).toBeGreaterThan(1);
    expect(served.length).toBeLessThan(60);
    expect(served).toEqual(served.map((_: number, index: number) => index));
    expect(remaining).toEqual(served.map(() => 998));
    expect(reasons).toEqual([expect.stringMatching(/^no room for limit state: ENOSPC/)]);
    expect(notices[0]).toMatch(/^degraded: limit storage unavailable: ENOSPC/);
    expect(files).toEqual(['store.limits']);
  },
);

testSmallDisk('starting on a full disk reports the full disk, not another process', async () => {
  // The free space determines which operation fails first.
  for (const freeKib of [0, 4, 32, 40]) {
    await using folder = await temporaryFolder();
    const fill = [
      `printf 'name,categoryId\\nOzzy,1\\n' | "$1" src/main.ts import - --format csv > /dev/null 2>&1`,
      `cat /dev/zero > "$0/ballast" 2> /dev/null; truncate -s -${freeKib}K "$0/ballast"; exec "$@"`,
    ];
    const filled = ['sh', '-c', fill.join('\n'), folder.path, ...serveCommand];
    await using service = start(onSmallDisk(folder.path, 'rw', filled), {
      environment: settingsIn(folder.path),
    });
    expect(await service.exited).toBe(1);
    expect(service.stderr()).toMatch(
      /^animal-store: Cannot (open|lock) .*the disk is full \(\d+ KiB free\)\.\n$/,
    );
    expect(service.stdout()).toBe('');
  }
});

testSmallDisk('starting on a read-only disk reports the file and exits with 1', async () => {
  await using folder = await temporaryFolder();
  const command = onSmallDisk(folder.path, 'ro', serveCommand);
  await using service = start(command, { environment: settingsIn(folder.path) });
  expect(await service.exited).toBe(1);
  expect(service.stderr()).toStartWith(`animal-store: Cannot create the file ${dataFileIn(folder.path)}: `);
  expect(service.stderr().trim().split('\n').length).toBe(1);
  expect(service.stdout()).toBe('');
});
