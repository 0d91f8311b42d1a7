/** Effects of each unit of work on the tables of an empty store. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { openStorage } from '../../src/app/store.ts';
import { ApiError } from '../../src/contract/api-error.ts';
import { type Resource, resources, type Versions } from '../../src/domain/resources.ts';
import { units } from '../../src/operations/units.ts';
import { PostgresTransaction } from '../../src/storage/postgres/transaction.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { groupIntoRuns } from '../../src/storage/unit-of-work.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import type { TestServers } from '../support/servers.ts';
import { strictRules } from './place.ts';
import { openDatabase, openSession } from './postgres-kit.ts';
import { type Call, sampleCalls } from './sample-calls.ts';
import { postgresSchema, type Schema, sqliteSchema } from './schema.ts';
import { raisedBy } from './shop-units.ts';

export type Row = Readonly<Record<string, unknown>>;

/** All rows, by table. */
export type Contents = Readonly<Record<string, readonly Row[]>>;

export interface Effect {
  readonly call: Call;
  readonly before: Contents;
  readonly after: Contents;
  /** The resources whose versions increased. */
  readonly raised: readonly Resource[];
  /** Tables that the statements read or changed, including triggers and foreign keys. PostgreSQL only. */
  readonly touched: readonly string[];
}

export interface Effects {
  readonly schema: Schema;
  readonly effects: readonly Effect[];
}

/** Runs calls and reads tables. */
interface Ground {
  readonly schema: Schema;
  run(call: Call): Promise<Pick<Effect, 'raised' | 'touched'>>;
  rows(table: string): Promise<Row[]> | Row[];
}

/** Runs the sample calls one after the other. */
async function effectsOn(ground: Ground): Promise<Effects> {
  const contents = async (): Promise<Contents> => {
    const tables = Object.keys(ground.schema);
    return Object.fromEntries(
      await Promise.all(tables.map(async (table) => [table, await ground.rows(table)])),
    );
  };
  const effects: Effect[] = [];
  let before = await contents();
  for (const call of sampleCalls) {
    const done = await ground.run(call).catch((cause) => {
      const reason = cause instanceof ApiError ? cause.code : cause;
      throw new Error(`The sample call of ${call[0]} failed: ${reason}`, { cause });
    });
    const after = await contents();
    effects.push({ call, before, after, ...done });
    before = after;
  }
  return { schema: ground.schema, effects };
}

export async function sqliteEffects(): Promise<Effects> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'store.db');
  const options = { url: `sqlite:${path}`, clock: new FakeClock(), rules: strictRules, units };
  await using store = await openStorage({ ...options, isServing: false, create: true });
  using database = new Database(path, { readonly: true });
  return await effectsOn({
    schema: sqliteSchema(path),
    run: async ([name, input]) => ({
      raised: await raisedBy(store, () => store.write(name, input as never)),
      touched: [],
    }),
    rows: (table) => database.query<Row, []>(`SELECT * FROM ${table}`).all(),
  });
}

export async function postgresEffects({ makeSchema }: TestServers): Promise<Effects> {
  await using place = await makeSchema();
  await using database = openDatabase(place.url);
  await database.migrate();
  await using session = openSession(place.url);
  const versions = async () => (await readState({ run: async (statement) => statement(session) })).versions;
  return await effectsOn({
    schema: await postgresSchema(session),
    run: async (call) => {
      const before = await versions();
      const { touched, announced } = await session.begin((sql) => runAlone(sql, call));
      const raised = risen(before, await versions());
      if (`${raised.toSorted()}` !== `${announced.toSorted()}`) {
        throw new Error(`${call[0]} raises the versions of "${raised}", but announces "${announced}".`);
      }
      return { raised, touched };
    },
    rows: (table) => session.unsafe(`SELECT * FROM ${table}`),
  });
}

/** Runs the unit of a call in a transaction. */
async function runAlone(sql: SQL, [name, input]: Call) {
  const announced = new Map<Resource, number>();
  const transaction = new PostgresTransaction(async (statement) => statement(sql), announced);
  const before = await uses(sql);
  for (const run of groupIntoRuns(units, [{ name, input }])) await run.start(transaction.tables);
  const after = await uses(sql);
  const touched = [...after].flatMap(([table, count]) => (count > (before.get(table) ?? 0n) ? [table] : []));
  return { touched, announced: [...announced.keys()] };
}

/** Number of reads and changes by table. May include earlier transactions. */
async function uses(sql: SQL): Promise<Map<string, bigint>> {
  const rows: { table: string; count: bigint }[] = await sql`
    SELECT relname AS "table", seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del AS count
    FROM pg_stat_xact_user_tables WHERE schemaname = current_schema()`;
  return new Map(rows.map(({ table, count }) => [table, count]));
}

function risen(before: Versions, after: Versions): Resource[] {
  return resources.filter((resource) => after[resource] > before[resource]);
}
