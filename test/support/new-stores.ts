import { afterAll } from 'bun:test';
import { join } from 'node:path';
import { patientSettings } from './cluster.ts';
import { temporaryFolder } from './folder.ts';
import { testServers } from './servers.ts';

interface NewStore extends AsyncDisposable {
  readonly settings: Readonly<Record<string, string>>;
}

/** Functions that create the settings of a new store on each engine, by its name. */
export async function newStores(): Promise<[engine: string, make: () => Promise<NewStore>][]> {
  const servers = await testServers();
  afterAll(() => servers?.[Symbol.asyncDispose]());
  const onSqlite = async () => {
    const folder = await temporaryFolder();
    const settings = { DATABASE_URL: `sqlite:${join(folder.path, 'store.db')}` };
    return { settings, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  };
  if (servers === undefined) return [['SQLite', onSqlite]];
  const onServers = async () => {
    const schema = await servers.makeSchema();
    const redis = { REDIS_URL: servers.redisUrl, REDIS_PREFIX: servers.makePrefix() };
    const settings = { DATABASE_URL: schema.url, ...redis, ...patientSettings };
    return { settings, [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose]() };
  };
  return [
    ['SQLite', onSqlite],
    ['PostgreSQL and Redis', onServers],
  ];
}
