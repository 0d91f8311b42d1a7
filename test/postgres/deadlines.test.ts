/** Requests end at their deadline, whatever the server does, and report whether they changed data. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import type { SQL } from 'bun';
import { totalAnimals } from '../../src/contract/pets.ts';
import { defaultScopes } from '../../src/domain/scope.ts';
import { units } from '../../src/operations/units.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import type { Execute } from '../../src/storage/postgres/statements.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import { openDatabase, openSession, outcomeOf, untilDone } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { testServers } from '../support/servers.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const timeoutMs = 2_000;
/** Interval of checks for expired statements. */
const stepMs = timeoutMs / 40;

describe.skipIf(servers === undefined)('PostgreSQL timeouts', () => {
  /** Renames the animal that was added first. */
  const renamed = {
    now: 0,
    scopes: defaultScopes,
    preconditions: {},
    params: { petId: 1n },
    body: { name: 'Rex' },
  };
  const ask = (sql: SQL) => sql`SELECT 1`;

  const kinds: Record<string, (store: Store) => Promise<{ done: Promise<unknown>; expected: string }>> = {
    'a read': async ({ database, proxy }) => {
      proxy.hold();
      return { done: database.read(ask), expected: 'unavailable' };
    },
    'a single-statement write': async ({ database, proxy }) => {
      await database.write(ask);
      proxy.hold();
      return { done: database.write(ask), expected: 'uncertain' };
    },
    'a write whose preparation the server has not acknowledged': async ({ add, proxy }) => {
      proxy.hold();
      return { done: add('unprepared'), expected: 'unavailable' };
    },
    'a transaction before its commit': async ({ database, proxy }) => {
      const work = async (execute: Execute) => {
        await execute(ask);
        proxy.hold();
        await execute(ask);
      };
      return { done: database.transact(work, performance.now() + timeoutMs), expected: 'unavailable' };
    },
    'a transaction between two statements': async ({ database, proxy }) => {
      const work = async (execute: Execute) => {
        await execute(ask);
        proxy.hold();
        await new Promise(() => {});
      };
      return { done: database.transact(work, performance.now() + timeoutMs), expected: 'unavailable' };
    },
    'a transaction whose commit has been sent': async ({ database, proxy }) => {
      proxy.holdAnswersTo('COMMIT');
      const work = (execute: Execute) => execute(ask);
      return { done: database.transact(work, performance.now() + timeoutMs), expected: 'uncertain' };
    },
    'a change that waits for its reads': async ({ add, writer, proxy }) => {
      await add('first');
      proxy.hold();
      return { done: writer.write('updatePet', renamed), expected: 'unavailable' };
    },
    'a change that waited for the reads of another change': async ({ add, writer, proxy, clock }) => {
      await add('first');
      proxy.hold();
      void outcomeOf(writer.write('updatePet', renamed));
      await clock.pass(timeoutMs / 4);
      return { done: writer.write('updatePet', renamed), expected: 'unavailable' };
    },
  };

  for (const [name, start] of Object.entries(kinds)) {
    test(`${name} times out when the server stops responding, before an outage is reported`, async () => {
      await using store = await opened();
      const { done, expected } = await start(store);
      let outcome: unknown;
      void outcomeOf(done).then((its) => {
        outcome = its;
      });
      const passed = await store.clock.until(() => outcome !== undefined);
      expect(outcome).toBe(expected);
      // Tolerates 10% more for the server's confirmation, and 5% more for two check intervals.
      expect(passed).toBeLessThanOrEqual(timeoutMs * 1.15);
      expect(store.notices).toEqual([]);
      await store.proxy.heal();
    });
  }

  test('a create request that times out waiting for a table lock is reported as not stored', async () => {
    await using store = await opened();
    const { pets, add, other, clock } = store;
    await other`BEGIN`;
    await other`LOCK TABLE pets IN ACCESS EXCLUSIVE MODE`;
    const outcomes: Promise<unknown>[] = [];
    for (let group = 0; group < 40; group++) {
      for (let index = 0; index < 100; index++) outcomes.push(outcomeOf(add(`${group} ${index}`)));
      await clock.pass(timeoutMs / 20);
    }
    await clock.pass(timeoutMs * 1.1);
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['unavailable']));
    await other`ROLLBACK`;
    await untilDone(() => pets.list(0n, 1));
    expect(totalAnimals(await pets.inventory())).toBe(0);
    expect(store.notices).toEqual([]);
  });

  test('a group whose outcome is unknown is not stored again', async () => {
    await using store = await opened();
    const { add, writer, pets, proxy, clock } = store;
    const group = (name: string) => [add(name), writer.write('updatePet', renamed), add(name)];
    await add('first');
    // Prepares the statement.
    await Promise.all(group('before'));
    proxy.holdAnswersTo('unanswered');
    const outcomes = group('unanswered').map(outcomeOf);
    await proxy.answerHeld();
    await clock.pass(timeoutMs * 1.2);
    expect(await Promise.all(outcomes)).toEqual(['uncertain', 'uncertain', 'uncertain']);
    await proxy.heal();
    await untilDone(() => pets.list(0n, 1));
    const names = (await pets.list(0n, 10)).map(({ name }) => name);
    expect(names).toEqual(['Rex', 'before', 'before', 'unanswered', 'unanswered']);
  });

  test('a stall that uses most of the timeout does not cause waiting writes to be rejected', async () => {
    await using store = await opened();
    const { add, pets, proxy, clock } = store;
    for (const name of ['one', 'two', 'three']) await add(name);
    proxy.hold();
    const [first, ...others] = Array.from({ length: 12 }, (_, index) => () => outcomeOf(add(`${index}`)));
    const outcomes = [first?.()];
    await clock.pass(timeoutMs / 40);
    outcomes.push(...others.map((write) => write()));
    await clock.pass(timeoutMs * 0.65);
    await proxy.heal();
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['done']));
    expect(totalAnimals(await pets.inventory())).toBe(15);
  });
});

type Store = Awaited<ReturnType<typeof opened>>;

/** A store behind a proxy, with the process's clock, and an additional session. */
async function opened() {
  await using made = new AsyncDisposableStack();
  const schema = made.use(await (servers as NonNullable<typeof servers>).makeSchema());
  const other = made.use(openSession(schema.url));
  // Migrates without the short timeout of the tests, which may be exceeded on a busy machine.
  await migrated(schema.url);
  const proxy = made.use(await tcpProxy(schema.url));
  const notices: string[] = [];
  const notice = (text: string) => void notices.push(text);
  const options = { url: proxy.url, poolSize: 4, statementTimeoutMs: timeoutMs, notice };
  const database = made.use(new PostgresDatabase(options));
  await database.migrate();
  const pets = createReads({ run: (statement) => database.read(statement) }).pets;
  const writer = new PostgresWriter(database, units, async () => {}, { secret: 'c2VjcmV0' });
  const add = (name: string) => writer.write('createPet', { now: 0, body: newPet(name) });
  const clock = made.use(new StepClock());
  const kept = made.move();
  return {
    ...{ database, pets, writer, add, other, proxy, notices, clock },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function migrated(url: string): Promise<void> {
  await using database = openDatabase(url);
  await database.migrate();
}

/**
 * A clock that advances in steps, under the control of a test. The process works between the steps, so a busy machine
 * only makes the test slower.
 */
class StepClock implements Disposable {
  #now = performance.now();
  readonly #mock = spyOn(performance, 'now').mockImplementation(() => this.#now);

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    while (this.#now < end) await this.#step();
  }

  /** Returns the elapsed time. */
  async until(condition: () => boolean): Promise<number> {
    const start = this.#now;
    while (!condition()) await this.#step();
    return this.#now - start;
  }

  [Symbol.dispose](): void {
    this.#mock.mockRestore();
  }

  async #step(): Promise<void> {
    const end = Date.now() + stepMs;
    await until(() => Date.now() >= end);
    this.#now += stepMs;
  }
}
