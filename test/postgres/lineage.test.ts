/** Ids after a failover or a restore, simulated by changing the recorded history. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import type { Pet } from '../../src/contract/representations.ts';
import { systemClock } from '../../src/domain/clock.ts';
import { units } from '../../src/operations/units.ts';
import { describeError } from '../../src/outages/outage.ts';
import { adoptPrefix, identifyProcess } from '../../src/storage/postgres/identity.ts';
import { Lineage } from '../../src/storage/postgres/lineage.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { skippedIdsPerRestore as gap } from '../../src/tables/events.ts';
import { openDatabase, openSession, openWriters } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const otherTables = '1.1';

/** Changes what the counters record: another timeline, or other tables on the same timeline. */
async function setHistory(session: SQL, former: string, last = 0): Promise<void> {
  const history = former === otherTables ? `'${former}/' || split_part(history, '/', 2)` : `'${former}'`;
  await session.unsafe(`
    ALTER TABLE counters DISABLE TRIGGER skip_lost_ids;
    UPDATE counters SET history = ${history}, last = CASE WHEN name = 'categories' THEN 0 ELSE ${last} END;
    ALTER TABLE counters ENABLE TRIGGER skip_lost_ids`);
}

describe.skipIf(servers === undefined)('ids in a different history', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('continue after a single gap that differs per history, whichever writers make the first changes', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using store = await openWriters(schema.url, units, 3);
    const add = async (count: number) => {
      const added = Array.from(
        { length: count },
        (_, index) =>
          store.writers[index % 3]?.write('createPet', { now: 0, body: newPet(`${index}`) }) as Promise<Pet>,
      );
      return (await Promise.all(added)).map(({ id }) => Number(id)).sort((one, other) => one - other);
    };
    expect(await add(3)).toEqual([1, 2, 3]);
    let from = 0;
    const assigned = [];
    // A failover, and then two restores of a dump on a server with the same timeline.
    for (const former of ['former', otherTables, otherTables]) {
      from = Date.now() * 1_000;
      await setHistory(session, former, 3);
      const added = await add(30);
      const [first = 0] = added;
      expect(first).toBeGreaterThan(from);
      expect(added).toEqual(Array.from({ length: 30 }, (_, index) => first + index));
      assigned.push(...added);
    }
    expect(new Set(assigned).size).toBe(90);
    const events = await session`SELECT number_events(), last FROM counters WHERE name = 'events'`;
    expect(Number(events[0]?.last)).toBe(3);
    const [{ last }] = await session`SELECT last FROM counters WHERE name = 'events'`;
    expect(Number(last)).toBeGreaterThan(from);
    // Clients choose the ids of categories.
    await session`UPDATE counters SET version = version + 1 WHERE name = 'categories'`;
    expect(await session`SELECT last FROM counters WHERE name = 'categories'`).toEqual([
      { last: 0n },
    ] as never);
  });

  test('differ if the same state, itself restored a moment ago, is restored or promoted several times', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using store = await openWriters(schema.url, units, 1);
    const add = () => store.writers[0]?.write('createPet', { now: 0, body: newPet('first') }) as Promise<Pet>;
    await add();
    const last = Date.now() * 1_000;
    const ids: number[] = [];
    for (const former of [otherTables, otherTables, 'former', 'former']) {
      await setHistory(session, former, last);
      ids.push(Number((await add()).id));
    }
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect([id, id > last + gap && id < 2 ** 53]).toEqual([id, true]);
  });

  test('are raised once if several instances find the store on a server with another system identifier', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using all = new AsyncDisposableStack();
    const notices: string[] = [];
    const marks = async () => {
      const lineages = [];
      for (let count = 0; count < 3; count++) {
        const database = all.use(openDatabase(schema.url));
        await database.migrate();
        const lineage = all.use(new Lineage(database, (text) => notices.push(text)));
        const state = await readState({ run: (statement) => database.read(statement) });
        lineages.push({ lineage, state });
      }
      for (const { lineage, state } of lineages) lineage.isMarked(state, performance.now());
      await Promise.all(lineages.map(({ lineage }) => lineage.settled()));
    };
    const lasts = () => session`SELECT name, last FROM counters WHERE name <> 'categories' ORDER BY name`;
    await marks();
    expect((await lasts()).every(({ last }: { last: bigint }) => last === 0n)).toBe(true);
    expect(notices).toEqual([]);
    // A dump was restored on this server.
    await setHistory(session, otherTables);
    await marks();
    const raised = await lasts();
    expect(raised.every(({ last }: { last: bigint }) => last > BigInt(gap))).toBe(true);
    await marks();
    expect(await lasts()).toEqual(raised);
    expect(notices).toEqual([expect.stringContaining('the database has a different history')]);
  });
});

test.skipIf(servers === undefined)(
  'an instance that opens a restored store sets the prefix before it marks the store, so that others with this prefix can start',
  async () => {
    await using schema = await (servers as NonNullable<typeof servers>).makeSchema();
    await using session = openSession(schema.url);
    await using database = openDatabase(schema.url);
    await database.migrate();
    const notices: string[] = [];
    const notice = (text: string) => notices.push(text);
    const open = (prefix: string) =>
      identifyProcess(database, {
        redisPrefix: prefix,
        ...{ isServing: true, migrates: true, notice, clock: systemClock() },
      });
    const prefixOf = async () => (await session`SELECT redis_prefix AS prefix FROM store`)[0]?.prefix;
    await session`UPDATE store SET redis_prefix = 'former:'`;
    // The dump was made while an instance was running.
    await session`
      INSERT INTO instances (name, version, started_at, seen_at) VALUES ('one', '1', 0, ${Date.now() + 20_000})`;
    await expect(open('new:')).rejects.toThrow('stop the running instances first: one');
    await setHistory(session, otherTables);
    await open('new:');
    expect(await prefixOf()).toBe('new:');
    expect(notices).toEqual([expect.stringContaining('from former: to new:')]);
  },
);

test.skipIf(servers === undefined)(
  "an instance with the store's prefix writes nothing, so that it starts on a read-only database",
  async () => {
    await using schema = await (servers as NonNullable<typeof servers>).makeSchema();
    await using session = openSession(schema.url);
    await using database = openDatabase(schema.url);
    await database.migrate();
    await session`UPDATE store SET redis_prefix = 'same:'`;
    const url = new URL(schema.url);
    const options = url.searchParams.get('options') ?? '';
    url.searchParams.set('options', `${options} -c default_transaction_read_only=on`.trim());
    await using readOnly = openDatabase(url.href);
    const notices: string[] = [];
    const adopt = (prefix: string) => adoptPrefix(readOnly, prefix, (text) => notices.push(text));
    await adopt('same:');
    expect(await adopt('other:').catch(describeError)).toContain('read-only transaction');
    expect(notices).toEqual([]);
  },
);
