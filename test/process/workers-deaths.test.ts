/** Workers that use the embedded store: after a worker or disk failure, and after shutdown. */
import { expect } from 'bun:test';
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { fileSizeLimits, limitFileSize } from '../faults/disk.ts';
import { slotLockedBy } from '../support/limit-file.ts';
import { lock } from '../support/lock.ts';
import { dataFileIn, limitFileIn } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import { Connection, type RawReply } from './connection.ts';
import { EachWorker, headerOf, workerPid } from './each-worker.ts';
import { embeddedTests } from './worker-stores.ts';

const embeddedTest = embeddedTests();

const quota = { perMinute: 1_000_000, perDay: 1_000_000 };

embeddedTest('an account locked by a killed worker is still served', async (stores) => {
  await using service = await stores.startInstance({ WORKERS: '3' });
  const { key, accountId } = await stores.issueKey(quota);
  using each = await EachWorker.meet(service, key, 3);
  const victim = workerPid(service, 2);
  // The worker is suspended, as if in the middle of counting a request.
  process.kill(victim, 'SIGSTOP');
  slotLockedBy(limitFileIn(stores.folder), accountId, 2);
  process.kill(victim, 'SIGKILL');
  await service.logged('"msg":"worker serving"');
  const statuses: string[] = [];
  for (const connection of each.connections) {
    const reply = await connection.get('/v1/pets', key).catch(() => undefined);
    statuses.push(String(reply?.status ?? 'cut off'));
  }
  expect(statuses.sort()).toEqual(['200', '200', 'cut off']);
  using again = await EachWorker.meet(service, key, 3);
  expect(await again.statuses(key)).toEqual([200, 200, 200]);
});

embeddedTest('a worker is replaced while another process locks the data file', async (stores) => {
  await using service = await stores.startInstance();
  const { key } = await stores.issueKey();
  using writing = lock(dataFileIn(stores.folder));
  process.kill(workerPid(service, 2), 'SIGKILL');
  await service.logged('"msg":"worker serving"');
  using each = await EachWorker.meet(service, key, 2);
  const created = Promise.all(each.connections.map((connection) => connection.add('waits', key)));
  writing.release();
  expect((await created).map(({ status }) => status)).toEqual([201, 201]);
});

embeddedTest(
  'shutdown leaves consistent files, and the next start continues from the saved counts',
  async (stores) => {
    const { key } = await stores.issueKey(quota);
    // The WAL is removed when the last connection closes, and that must be the service's connection.
    await stores.operator[Symbol.asyncDispose]();
    const remainingOf = (reply: RawReply) => Number(headerOf(reply, 'x-ratelimit-remaining'));
    let remaining: number;
    {
      await using service = await stores.startInstance({ WORKERS: '3' });
      using each = await EachWorker.meet(service, key, 3);
      for (const connection of each.connections) expect((await connection.add('Rex', key)).status).toBe(201);
      remaining = Math.min(...(await each.ask('/v1/pets', key)).map(remainingOf));
      service.signal('SIGTERM');
      expect(await service.exited).toBe(0);
    }
    expect(readdirSync(stores.folder).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([]);
    await using service = await stores.startInstance({ WORKERS: '3' });
    using connection = await Connection.open(service.url);
    const reply = await connection.get('/v1/pets', key);
    expect([JSON.parse(reply.body).length, remainingOf(reply)]).toEqual([3, remaining - 1]);
  },
);

embeddedTest('a second service on the same store does not start, with or without workers', async (stores) => {
  await using first = await stores.startInstance();
  for (const settings of [{}, { WORKERS: '1' }]) {
    await using second = stores.begin(settings);
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toContain(dataFileIn(stores.folder));
    expect(second.stdout()).toBe('');
  }
  expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
});

embeddedTest(
  'a worker that starts while the folder is moved away does not create another store',
  async (stores) => {
    await using service = await stores.startInstance();
    const { key } = await stores.issueKey();
    await stores.operator[Symbol.asyncDispose]();
    const away = `${stores.folder} away`;
    renameSync(stores.folder, away);
    process.kill(workerPid(service, 2), 'SIGKILL');
    await service.logged('was moved, deleted, or is no longer mounted');
    expect(existsSync(stores.folder)).toBe(false);
    renameSync(away, stores.folder);
    await service.logged('"msg":"worker serving"');
    using each = await EachWorker.meet(service, key, 2);
    for (const connection of each.connections) expect((await connection.add('Rex', key)).status).toBe(201);
  },
);

const limitedTest = embeddedTests(testWith(...fileSizeLimits));

limitedTest('/readyz of every worker reports failing writes and the recovery', async (stores) => {
  await using service = await stores.startInstance({ WORKERS: '3' });
  const { key } = await stores.issueKey();
  using each = await EachWorker.meet(service, key, 3);
  const says = async (status: string) =>
    (await each.ask('/readyz', key)).every(({ body }) => body.includes(`"status":"${status}"`));
  expect(await says('ready')).toBe(true);
  // The supervisor process writes for all workers.
  limitFileSize(service.pid, statSync(`${dataFileIn(stores.folder)}-wal`).size);
  expect((await (each.connections[0] as Connection).add('refused', key)).status).toBe(503);
  await until(() => says('degraded'));
  // A worker that starts during the outage also reports it.
  process.kill(workerPid(service, 3), 'SIGKILL');
  await service.logged('"msg":"worker serving"');
  using again = await EachWorker.meet(service, key, 3);
  const bodies = async () => (await again.ask('/readyz', key)).map(({ body }) => body);
  await until(async () => (await bodies()).every((body) => body.includes('degraded')));
  limitFileSize(service.pid, 'unlimited');
  expect((await (again.connections[1] as Connection).add('stored', key)).status).toBe(201);
  await until(async () => (await bodies()).every((body) => body.includes('"ready"')));
});
