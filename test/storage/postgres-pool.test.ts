/** The connections of one process to PostgreSQL: what a lock, a lost session and a slow statement do to them. */
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { total } from '../../src/contract/inventory.ts';
import type { Pet } from '../../src/contract/pets.ts';
import { units } from '../../src/operations/units.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { PostgresPets } from '../../src/storage/postgres/pets.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import { StorageUnavailable, WriteUncertain } from '../../src/storage/storage.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { newPet } from './samples.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const poolSize = 4;

describe.skipIf(servers === undefined)('the pool', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);
  const notices: string[] = [];
  const notice = (text: string) => void notices.push(text);
  beforeEach(() => void notices.splice(0));

  /** A database with a store in it, and a session beside the pool. */
  async function opened(statementTimeoutMs: number) {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await makeSchema());
    const other = made.use(new SQL(schema.url, { max: 1 }));
    const database = made.use(
      new PostgresDatabase({ url: schema.url, poolSize, statementTimeoutMs, notice }),
    );
    await database.migrate();
    const pets = new PostgresPets(database);
    const writer = new PostgresWriter(database, units, async () => {});
    const add = (name: string) => writer.write('createPet', { body: newPet(name) }) as Promise<Pet>;
    await add('first');
    const locks = `SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
                   WHERE application_name = 'animal-store' AND NOT granted`;
    const kept = made.move();
    return {
      database,
      pets,
      add,
      other,
      sessions: async (): Promise<number[]> => {
        const rows = await other.unsafe(
          `SELECT pid FROM pg_stat_activity WHERE application_name = 'animal-store' AND query LIKE '%pets%'`,
        );
        return rows.map(({ pid }: { pid: number }) => pid);
      },
      isWaiting: async () => {
        while ((await other.unsafe(locks)).length === 0) await Bun.sleep(1);
      },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  const kindOf = (error: unknown) =>
    error instanceof WriteUncertain
      ? 'uncertain'
      : error instanceof StorageUnavailable
        ? 'unavailable'
        : error;
  const outcome = (done: Promise<unknown>) => done.then(() => 'done', kindOf);

  test('readers behind a lock are refused in time and are no outage: the connections stay, and go on', async () => {
    await using store = await opened(400);
    const { database, pets, other, sessions } = store;
    await other`BEGIN`;
    await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
    const readers = Array.from({ length: 180 }, () => outcome(pets.list(0n, 10)));
    expect(new Set(await Promise.all(readers))).toEqual(new Set(['unavailable']));
    const during = await sessions();
    expect(during.length).toBeLessThanOrEqual(poolSize);
    await other`COMMIT`;
    expect(await outcome(pets.list(0n, 10))).toBe('done');
    expect(during).toContain((await sessions())[0] as number);
    expect(database.trouble).toBeUndefined();
    expect(notices).toEqual([]);
  });

  test('creations behind a lock are refused when their time is over, and none of them is done', async () => {
    await using store = await opened(400);
    const { pets, add, other, isWaiting } = store;
    await other`BEGIN`;
    await other`SELECT * FROM counters FOR UPDATE`;
    const creations = Array.from({ length: 3_500 }, (_, index) => outcome(add(`${index}`)));
    await isWaiting();
    expect(new Set(await Promise.all(creations))).toEqual(new Set(['unavailable']));
    await other`COMMIT`;
    // No gap: what was refused took no number.
    expect((await add('next')).id).toBe(2n);
    expect(total(await pets.inventory())).toBe(2);
    expect(notices).toEqual([]);
  });

  test('creations that wait for a lock less long than their time are done', async () => {
    await using store = await opened(60_000);
    const { pets, add, other, isWaiting } = store;
    await other`BEGIN`;
    await other`SELECT * FROM counters FOR UPDATE`;
    const creations = Array.from({ length: 1_500 }, (_, index) => outcome(add(`${index}`)));
    await isWaiting();
    await other`COMMIT`;
    expect(new Set(await Promise.all(creations))).toEqual(new Set(['done']));
    expect(total(await pets.inventory())).toBe(1_501);
  });

  test('sessions that an administrator ends are replaced, without a word and without an outage', async () => {
    await using store = await opened(10_000);
    const { pets, add, other, sessions } = store;
    await Promise.all(Array.from({ length: 50 }, () => pets.list(0n, 1)));
    const before = await sessions();
    for (const pid of before) await other`SELECT pg_terminate_backend(${pid})`;
    while ((await sessions()).some((pid) => before.includes(pid))) await Bun.sleep(1);
    while ((await outcome(pets.list(0n, 1))) !== 'done') await Bun.sleep(1);
    expect(await outcome(add('after'))).toBe('done');
    expect(notices).toEqual([]);
  });

  test('a write that is cut off is uncertain, a read is not', async () => {
    await using store = await opened(10_000);
    const { database, other, isWaiting } = store;
    for (const [kind, expected] of [
      ['write', 'uncertain'],
      ['read', 'unavailable'],
    ] as const) {
      await other`BEGIN`;
      await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
      const done = outcome(database[kind]((sql) => sql`SELECT count(*) FROM pets`));
      await isWaiting();
      await other`
        SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'animal-store' AND NOT granted`;
      expect(await done).toBe(expected);
      await other`ROLLBACK`;
    }
  });
});
