import { afterAll } from 'bun:test';
import { SQL } from 'bun';
import type { ClusterSettings } from '../../src/app/cluster.ts';
import { openStorage, openStore } from '../../src/app/store.ts';
import { type TestServers, testServers } from '../support/servers.ts';
import type { MakePlace } from './place.ts';

/** Timeouts longer than the defaults, for machines that run many tests at once. */
export const patient: Omit<ClusterSettings, 'redisUrl' | 'redisPrefix'> = {
  redisTimeoutMs: 5_000,
  poolSize: 4,
  statementTimeoutMs: 10_000,
};

/** Creates store locations in PostgreSQL and Redis, each with a separate schema and key prefix. */
export function clusterPlaceOn(servers: TestServers, makeSchema = servers.makeSchema): MakePlace {
  return async (clock, rules) => {
    const schema = await makeSchema();
    const cluster = { ...patient, redisUrl: servers.redisUrl, redisPrefix: servers.makePrefix() };
    const options = { url: schema.url, clock, rules, create: true, cluster };
    return {
      open: (isServing) => openStore({ ...options, isServing }),
      openWith: (units, statementTimeoutMs = patient.statementTimeoutMs) =>
        openStorage({ ...options, isServing: false, units, cluster: { ...cluster, statementTimeoutMs } }),
      [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
    };
  };
}

/** Stores backed by PostgreSQL and Redis, keyed by name. Empty if no servers are available. */
export async function clusterPlaces(): Promise<Record<string, MakePlace>> {
  const servers = await testServers();
  if (servers === undefined) return {};
  const schemas = new ReusedSchemas(servers);
  afterAll(async () => {
    await schemas[Symbol.asyncDispose]();
    await servers[Symbol.asyncDispose]();
  });
  return { 'PostgreSQL and Redis': clusterPlaceOn(servers, () => schemas.take()) };
}

interface ReusedSchema extends Awaited<ReturnType<TestServers['makeSchema']>> {
  /** Empties the schema. Stays open, because a new session reads the descriptions of all tables again. */
  readonly session: SQL;
}

/** Schemas that are emptied and reused, because migrating takes longer than most tests. */
class ReusedSchemas implements AsyncDisposable {
  readonly #servers: TestServers;
  readonly #free: ReusedSchema[] = [];

  constructor(servers: TestServers) {
    this.#servers = servers;
  }

  /** An empty schema, either new or already migrated. */
  async take(): Promise<{ readonly url: string } & AsyncDisposable> {
    const schema = this.#free.pop() ?? (await this.#make());
    const giveBack = async () => {
      await makeEmpty(schema.session);
      this.#free.push(schema);
    };
    return { url: schema.url, [Symbol.asyncDispose]: giveBack };
  }

  async #make(): Promise<ReusedSchema> {
    const schema = await this.#servers.makeSchema();
    return { ...schema, session: new SQL(schema.url, { max: 1 }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const schema of this.#free) {
      await schema.session.close();
      await schema[Symbol.asyncDispose]();
    }
  }
}

/** Resets a store to its state after the migrations. Deletes rows, because TRUNCATE is as slow as CREATE TABLE. */
async function makeEmpty(sql: SQL): Promise<void> {
  const tables: { name: string }[] = await sql`
    SELECT quote_ident(tablename) AS name FROM pg_tables
    WHERE schemaname = current_schema()
      AND tablename NOT IN ('animal_store_format', 'counters', 'inventory', 'store')`;
  if (tables.length === 0) return;
  // A single statement, because foreign keys are checked at the end of each statement.
  const deletions = tables.map(({ name }, index) => `deletion${index} AS (DELETE FROM ${name})`);
  // Twice, because triggers on deletions may add rows.
  await sql.unsafe(`
    WITH ${deletions} SELECT;
    WITH ${deletions} SELECT;
    UPDATE counters SET last = 0, version = 0;
    UPDATE inventory SET available = 0, pending = 0, sold = 0;
    DELETE FROM inventory_by_category;
    UPDATE store SET id = left(replace(gen_random_uuid()::text, '-', ''), 12), redis_prefix = NULL`);
}
