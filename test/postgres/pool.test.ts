/** A process's PostgreSQL connection pool: effects of locks, lost sessions and slow statements. */
import { beforeEach, expect, test } from 'bun:test';
import { totalAnimals } from '../../src/contract/pets.ts';
import type { Pet } from '../../src/contract/representations.ts';
import { units } from '../../src/operations/units.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import type { Statement } from '../../src/storage/postgres/statements.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import {
  alive,
  expectReadCommitted,
  lockAwaited,
  lockers,
  openDatabase,
  openSession,
  outcomeOf,
  untilDone,
} from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

const poolSize = 4;

await describeWithServers('the PostgreSQL connection pool', ({ makeSchema, makeDatabase }) => {
  const notices: string[] = [];
  const notice = (text: string) => void notices.push(text);
  beforeEach(() => void notices.splice(0));

  /** A database with a store, and a session outside the pool. */
  async function opened(statementTimeoutMs: number) {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await makeSchema());
    const other = made.use(openSession(schema.url));
    const options = { url: schema.url, poolSize, statementTimeoutMs, notice };
    const database = made.use(new PostgresDatabase(options));
    await database.migrate();
    const pets = createReads({ run: (statement) => database.read(statement) }).pets;
    const writer = new PostgresWriter(database, units, async () => {}, { secret: 'c2VjcmV0' });
    const add = (name: string) => writer.write('createPet', { now: 0, body: newPet(name) }) as Promise<Pet>;
    await untilDone(() => add('first'));
    const kept = made.move();
    return { database, pets, add, other, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  /** The server processes of the pool's connections. */
  async function sessions(database: PostgresDatabase): Promise<number[]> {
    const pids = Array.from({ length: poolSize }, () =>
      database.write((sql) => sql`SELECT pg_backend_pid() AS pid`),
    );
    return (await Promise.all(pids)).flatMap((rows: { pid: number }[]) => rows.map(({ pid }) => pid));
  }

  test('reports an outage even if attempts to connect overlap', async () => {
    await using schema = await makeSchema();
    await using address = await tcpProxy(schema.url);
    await using database = new PostgresDatabase({
      ...{ url: address.url, poolSize, statementTimeoutMs: 2_000, notice },
    });
    await untilDone(() => database.migrate());
    address.hold();
    address.drop();
    await until(() => {
      // Each read that waits begins another attempt.
      void outcomeOf(database.read((sql) => sql`SELECT 1`));
      return notices.some((text) => text.startsWith('degraded: PostgreSQL unavailable'));
    });
    await address.heal();
    await untilDone(() => database.read((sql) => sql`SELECT 1`));
  });

  test('when reads are blocked by a lock, rejects them at their deadline, keeps its connections and reports no outage', async () => {
    // A connection is considered lost after 1.5 times this timeout, which is long because machines may be busy.
    await using store = await opened(4_000);
    const { database, pets, other } = store;
    await other`BEGIN`;
    await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
    const readers = Array.from({ length: 180 }, () => outcomeOf(pets.list(0n, 10)));
    // Checked while the reads wait, because the server cancels them when they are rejected.
    await lockAwaited(other);
    const during = await lockers(other);
    expect(during.length).toBeLessThanOrEqual(poolSize);
    expect(new Set(await Promise.all(readers))).toEqual(new Set(['unavailable']));
    await other`COMMIT`;
    await untilDone(() => pets.list(0n, 10));
    expect(await alive(other, during)).toEqual(during.sort());
    expect(database.trouble).toBeUndefined();
    expect(notices).toEqual([]);
  });

  test('when create requests are blocked by a lock until their timeout, rejects them and stores none of them', async () => {
    await using store = await opened(2_000);
    const { pets, add, other } = store;
    await other`BEGIN`;
    await other`SELECT * FROM counters FOR UPDATE`;
    const creations = Array.from({ length: 2_500 }, (_, index) => outcomeOf(add(`${index}`)));
    await lockAwaited(other);
    expect(new Set(await Promise.all(creations))).toEqual(new Set(['unavailable']));
    await other`COMMIT`;
    // Rejected writes leave no gap in the ids.
    let next: Pet | undefined;
    await untilDone(async () => {
      next = await add('next');
    });
    expect(next?.id).toBe(2n);
    expect(totalAnimals(await pets.inventory())).toBe(2);
    expect(notices).toEqual([]);
  });

  test('completes create requests that wait for a lock for less than their timeout', async () => {
    await using store = await opened(60_000);
    const { pets, add, other } = store;
    await other`BEGIN`;
    await other`SELECT * FROM counters FOR UPDATE`;
    const creations = Array.from({ length: 1_500 }, (_, index) => outcomeOf(add(`${index}`)));
    await lockAwaited(other);
    await other`COMMIT`;
    expect(new Set(await Promise.all(creations))).toEqual(new Set(['done']));
    expect(totalAnimals(await pets.inventory())).toBe(1_501);
  });

  test('runs no other statement in a session whose statement was canceled, because the cancellation may arrive late', async () => {
    await using store = await opened(20_000);
    const { database, other } = store;
    await sessions(database);
    await other`BEGIN`;
    await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
    const query: Statement<unknown> = (sql) => sql`SELECT count(*) FROM pets`;
    // Earlier than the server's own timeout.
    const dueAt = performance.now() + database.statementTimeoutMs / 4;
    const writes = [database.write(query, dueAt), database.transact((execute) => execute(query), dueAt)];
    const outcomes = Promise.all(writes.map(outcomeOf));
    await until(async () => (await lockers(other, 'waiting')).length === writes.length);
    const waiting = await lockers(other, 'waiting');
    expect(await outcomes).toEqual(['unavailable', 'unavailable']);
    await other`ROLLBACK`;
    await until(async () => (await alive(other, waiting)).length === 0);
    expect(await outcomeOf(database.write(query))).toBe('done');
  });

  test('transactions have the isolation level that the service needs, whatever the default of the database', async () => {
    await using empty = await makeDatabase();
    await using session = openSession(empty.url);
    const name = new URL(empty.url).pathname.slice(1);
    await session.unsafe(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
    await using database = openDatabase(empty.url);
    await expectReadCommitted(database);
  });

  test('silently replaces sessions that an administrator terminates', async () => {
    await using store = await opened(10_000);
    const { database, pets, add, other } = store;
    await Promise.all(Array.from({ length: 50 }, () => pets.list(0n, 1)));
    for (const pid of await sessions(database)) await other`SELECT pg_terminate_backend(${pid})`;
    await untilDone(() => pets.list(0n, 1));
    await untilDone(() => add('after'));
    expect(notices).toEqual([]);
  });

  test('reports an interrupted write as uncertain, and an interrupted read as unavailable', async () => {
    await using store = await opened(10_000);
    const { database, other } = store;
    for (const [kind, expected] of [
      ['write', 'uncertain'],
      ['read', 'unavailable'],
    ] as const) {
      await other`BEGIN`;
      await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
      const done = outcomeOf(database[kind]((sql) => sql`SELECT count(*) FROM pets`));
      await lockAwaited(other);
      for (const pid of await lockers(other, 'waiting')) await other`SELECT pg_terminate_backend(${pid})`;
      expect(await done).toBe(expected);
      await other`ROLLBACK`;
    }
  });
});
