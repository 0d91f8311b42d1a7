/**
 * While PostgreSQL waits for a synchronous standby that is missing, a change that the standby may lack is not
 * acknowledged.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { scopes } from '../../src/domain/scope.ts';
import { units } from '../../src/operations/units.ts';
import type { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import { openDatabase, openSession, outcomeOf } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { ownPostgres } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const server = await ownPostgres();
afterAll(() => server?.[Symbol.asyncDispose]());

/** A write waits this long for the standby. Statements that need no standby must be faster, even on a busy machine. */
const statementTimeoutMs = 3_000;

/** Lets every commit wait for a standby that does not exist, except in this session. */
async function awaitStandby(session: SQL, url: string): Promise<void> {
  await session`SET synchronous_commit = local`;
  await session`CREATE TABLE probes ()`;
  await session`ALTER SYSTEM SET synchronous_standby_names = 'missing'`;
  await session`SELECT pg_reload_conf()`;
  await using probe = openSession(url);
  const waiting = () =>
    session<{ pid: number }[]>`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  // The setting takes effect some time after the reload.
  let isDone = true;
  await until(async () => {
    if (isDone) {
      isDone = false;
      void probe`INSERT INTO probes DEFAULT VALUES`.then(() => (isDone = true));
    }
    return (await waiting()).length > 0;
  });
  for (const { pid } of await waiting()) await session`SELECT pg_cancel_backend(${pid})`;
  await until(() => isDone);
  await session`DELETE FROM probes`;
}

describe.skipIf(server === undefined)('without its synchronous standby, PostgreSQL', () => {
  test('stores changes whose outcome the service reports as unknown, even if they are repeated', async () => {
    const { url } = server as NonNullable<typeof server>;
    await using session = openSession(url);
    await using database = openDatabase(url, statementTimeoutMs);
    await database.migrate();
    const writer = new PostgresWriter(database, units, async () => {}, { secret: 'c2VjcmV0' });
    const add = (name: string) => writer.write('createPet', { now: 0, body: newPet(name) });
    const rename = (name: string) => {
      const params = { petId: 1n };
      return writer.write('updatePet', { now: 0, scopes, preconditions: {}, params, body: { name } });
    };
    const remove = () =>
      writer.write('deletePet', { now: 0, scopes, preconditions: {}, params: { petId: 2n } } as never);
    const open = () => writer.write('createAccount', { name: 'shop', plan: 'free', createdAt: 0 });
    const addOnce = (name: string) => {
      const once = { accountId: 1, key: name, request: name };
      return writer.write('createPetOnce', { input: { now: 0, body: newPet(name) }, once, at: 0 });
    };
    await add('first');
    await awaitStandby(session, url);
    const probe: Parameters<PostgresDatabase['write']>[0] = (sql) => sql`INSERT INTO probes DEFAULT VALUES`;
    const writes: Record<string, () => Promise<unknown>> = {
      'one statement': () => database.write(probe),
      'a transaction': () =>
        database.transact((execute) => execute(probe), performance.now() + statementTimeoutMs),
      'a unit that is one statement': () => add('second'),
      'a group of units': () => Promise.all([rename('Rex'), add('third')]),
      'the same name again': () => rename('Rex'),
      'a deletion': () => remove(),
      'the same deletion again': () => remove(),
      'a unit with an Idempotency-Key': () => addOnce('fourth'),
      'the replay of its response': () => addOnce('fourth'),
      'a unit in a transaction': open,
    };
    for (const [name, write] of Object.entries(writes)) {
      expect([name, await outcomeOf(write())]).toEqual([name, 'uncertain']);
    }
    await session`ALTER SYSTEM RESET synchronous_standby_names`;
    await session`SELECT pg_reload_conf()`;
    const stored = async () => {
      const [counts] = await session`
        SELECT (SELECT count(*)::int FROM pets WHERE name <> 'afterwards') AS pets,
               (SELECT count(*)::int FROM probes) AS probes, (SELECT count(*)::int FROM accounts) AS accounts`;
      return counts;
    };
    // A commit that was not canceled, because it is part of a transaction, still waits.
    await until(async () => (await stored()).accounts === 1);
    await until(async () => (await outcomeOf(add('afterwards'))) === 'done');
    expect(await stored()).toEqual({ pets: 3, probes: 2, accounts: 1 });
  });
});
