import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { allNames, load, readiness } from '../support/load.ts';
import { ample, dataFileIn, issueKey, serveWith, startService } from '../support/process.ts';
import { untilReady } from '../support/ready.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import { expectStored } from './disk.ts';
import { holdSyncs, tracing } from './strace.ts';

const testTraced = testWith(...tracing);

/** Create requests that are waiting for their commit to be synced. */
interface Pending {
  readonly answered: string[];
  readonly replies: Promise<Reply[]>;
}

async function addPending(client: Client, folder: string, names: readonly string[]): Promise<Pending> {
  const answered: string[] = [];
  const replies = Promise.all(
    names.map(async (name) => {
      const reply = await client.add(name);
      answered.push(name);
      return reply;
    }),
  );
  const log = `${dataFileIn(folder)}-wal`;
  await until(() => names.some((name) => readFileSync(log).includes(name)));
  return { answered, replies };
}

testTraced(
  'no request waits for the sync of another request, and a create request is acknowledged only after its sync',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path);
    const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
    const limited = clientOf(
      service.url,
      await issueKey(folder.path, 'enterprise', { perMinute: 1, perDay: 1 }),
    );
    const later = clientOf(service.url, await issueKey(folder.path, 'free'));
    const stranger = clientOf(service.url, 'nobody');
    await client.add('there before');

    await using held = await holdSyncs(service.pid);
    const { answered, replies } = await addPending(client, folder.path, ['one', 'two', 'three']);
    const statusOf = async (reply: Promise<Reply>) => (await reply).status;
    expect(await allNames(client)).toEqual(['there before']);
    expect(await statusOf(client.get('/pets/1'))).toBe(200);
    expect(await statusOf(client.get('/pets/2'))).toBe(404);
    expect(await statusOf(client.add(''))).toBe(400);
    expect(await statusOf(stranger.get('/pets'))).toBe(401);
    expect([await statusOf(limited.get('/pets')), await statusOf(limited.get('/pets'))]).toEqual([200, 429]);
    // This request needs the store, because nothing is cached for a new key.
    expect(await statusOf(later.get('/pets'))).toBe(200);
    expect(await readiness(service.url)).toEqual({ status: 'ready' });
    expect(answered).toEqual([]);

    await held.end();
    expect((await replies).map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await allNames(client)).toSorted()).toEqual(['one', 'there before', 'three', 'two']);
  },
);

testTraced(
  'while the disk hangs in a commit, the create requests in the commit get 503 with an unknown outcome, and later create requests get 503 and are not stored; ' +
    'reads succeed, and the service recovers afterwards',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
    await client.add('there before');

    const held = await holdSyncs(service.pid);
    await using _held = held;
    const { replies } = await addPending(client, folder.path, ['one', 'two']);
    const reading = load(2, () => client.get('/pets'), 20);
    for (const { status, text } of await replies) {
      expect([status, text]).toEqual([503, expect.stringContaining('It is unknown whether')]);
    }
    expect(await readiness(service.url)).toMatchObject({ status: 'degraded' });
    const { status, text } = await client.add('while it hangs');
    expect([status, text]).toEqual([503, expect.stringContaining('Nothing was changed')]);
    await reading.more(20);
    for (const reply of await reading.stop())
      expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('there before')]);

    await held.end();
    // The pending writes show that the disk has recovered, so no other write is needed.
    await untilReady(service.url);
    await until(async () => (await allNames(client)).length === 3);
    expect((await client.add('healed')).status).toBe(201);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    const lines = service
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const outage = lines.filter(({ part }) => part === 'animal storage');
    // Checks only the first outage, because on a busy machine the disk may stall again and cause further outages.
    expect(outage.slice(0, 2).map(({ msg, refused }) => [msg.replace(/: no commit.*/, ''), refused])).toEqual(
      [
        ['degraded: animal storage unavailable', undefined],
        ['animal storage available again', 3],
      ],
    );
  },
);

testTraced('a service exits on SIGTERM while its disk hangs in a commit', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0', LOG_LEVEL: 'silent' });
  const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
  await client.add('there before');

  const held = await holdSyncs(service.pid);
  await using _held = held;
  const { replies } = await addPending(client, folder.path, ['one']);
  // The create request gets 503 with an unknown outcome, or its connection is closed at the shutdown deadline.
  const statuses = replies.then(
    (all) => all.map(({ status }) => status),
    () => [503],
  );
  service.signal('SIGTERM');
  // Waits until all threads except the delayed thread have ended. State "Z" is a process that has exited but is still
  // traced.
  await until(() => /\) Z /.test(readFileSync(`/proc/${service.pid}/stat`, 'latin1')));
  await held.end();
  expect(await service.exited).toBe(0);
  expect(await statuses).toEqual([503]);
});

const preloaded = serveWith('test/faults/writer-ends.ts');

for (const [end, reason] of [
  ['it throws', / failed: /],
  ['it is terminated', / has ended\./],
] as const) {
  test(`when the writer thread ends because ${end}, the process logs the reason and exits without losing any acknowledged writes`, async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(
      folder.path,
      { WRITER_ENDS: end, DRAIN_SECONDS: '0' },
      preloaded,
    );
    const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
    const stored = new Map<string, number>();
    const sent = new Set<string>();
    const write = async (writer: number) => {
      for (let number = 0; ; number++) {
        const name = `${writer}-${number}`;
        sent.add(name);
        const reply = await client.add(name).catch(() => undefined);
        if (reply === undefined || reply.status === 503) return;
        expect(reply.status).toBe(201);
        stored.set(name, (JSON.parse(reply.text) as { id: number }).id);
      }
    };
    const writing = Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
    await until(() => stored.size > 40);
    service.signal('SIGUSR2');
    expect(await service.exited).toBe(1);
    await writing;
    expect(service.stderr()).toMatch(/The thread that writes to .*store\.db/);
    expect(service.stderr()).toMatch(reason);

    await using again = await startService(folder.path);
    // An animal whose create request got no response may also have been stored, but only completely and with a unique
    // id.
    const found = await allNames(clientOf(again.url, await issueKey(folder.path, 'enterprise', ample)));
    for (const name of found)
      if (sent.has(name) && !stored.has(name)) stored.set(name, found.indexOf(name) + 1);
    expectStored(folder.path, stored);
  });
}
