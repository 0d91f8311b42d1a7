/**
 * Real database servers for tests: those of TEST_POSTGRES_URL and TEST_REDIS_URL, else private ones from the
 * binaries on this machine. Where there are none the tests are skipped with one line, and fail with CI=true.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { RedisClient, SQL } from 'bun';
import type { Certificate } from './certificates.ts';
import { makeData } from './postgres-data.ts';
import { missing } from './requirements.ts';
import { asServerUser, findProgram, type OwnServer, ownServer, type ServerKind } from './server-process.ts';

export type { OwnServer } from './server-process.ts';

/** Where the stores of one test file live. */
export interface TestServers extends AsyncDisposable {
  /** A PostgreSQL address with a schema of its own, empty. */
  makeSchema(): Promise<{ readonly url: string } & AsyncDisposable>;
  /** A PostgreSQL address with a separate database, empty. */
  makeDatabase(): Promise<{ readonly url: string } & AsyncDisposable>;
  readonly redisUrl: string;
  /** A prefix for Redis keys that nothing else uses; what is under it is deleted in the end. */
  makePrefix(): string;
}

/** Undefined when this machine has no servers to test with. */
export async function testServers(): Promise<TestServers | undefined> {
  await using made = new AsyncDisposableStack();
  const postgresUrl = process.env.TEST_POSTGRES_URL ?? made.use(await ownPostgres())?.url;
  const redisUrl = process.env.TEST_REDIS_URL ?? made.use(await ownRedis())?.url;
  if (postgresUrl === undefined || redisUrl === undefined) return undefined;

  const sql = new SQL(postgresUrl, { max: 1 });
  made.defer(() => sql.close({ timeout: 1 }));
  const prefixes: string[] = [];
  made.defer(() => deletePrefixes(redisUrl, prefixes));
  const kept = made.move();
  return {
    redisUrl,
    async makeSchema() {
      const schema = uniqueName();
      await sql.unsafe(`CREATE SCHEMA ${schema}`);
      const url = new URL(postgresUrl);
      url.searchParams.set('search_path', schema);
      return {
        url: url.href,
        [Symbol.asyncDispose]: async () => {
          await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
        },
      };
    },
    async makeDatabase() {
      const database = uniqueName();
      await sql.unsafe(`CREATE DATABASE ${database}`);
      const url = new URL(postgresUrl);
      url.pathname = `/${database}`;
      return {
        url: url.href,
        [Symbol.asyncDispose]: async () => {
          await sql.unsafe(`DROP DATABASE ${database} WITH (FORCE)`);
        },
      };
    },
    makePrefix() {
      prefixes.push(`${uniqueName()}:`);
      return prefixes.at(-1) ?? '';
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A PostgreSQL server of the test's own, with TLS if it gets a certificate; undefined when this machine has none. */
export async function ownPostgres(certificate?: Certificate): Promise<OwnServer | undefined> {
  const initdb = findProgram('initdb');
  const postgres = findProgram('postgres');
  if (initdb === undefined || postgres === undefined) {
    return missing({ name: 'PostgreSQL', package: 'postgresql' });
  }
  return ownServer(postgresKind(initdb, postgres, certificate));
}

export const redisPrograms = ['redis-server', 'valkey-server'] as const;

/** A Redis or Valkey server of the test's own; undefined when this machine has none. */
export async function ownRedis(): Promise<OwnServer | undefined> {
  const program = redisPrograms.map(findProgram).find((path) => path !== undefined);
  return program === undefined
    ? missing({ name: 'Redis or Valkey', package: 'redis-server' })
    : ownServer(redisKind(program));
}

function postgresKind(initdb: string, postgres: string, certificate?: Certificate): ServerKind {
  return {
    scheme: 'postgres://postgres@',
    path: '/postgres',
    async prepare(folder) {
      await makeData(initdb, join(folder, 'data'));
      // Roles that a test makes log in with a password.
      const access = 'host all postgres all trust\nhost all all all scram-sha-256\n';
      await Bun.write(join(folder, 'data', 'pg_hba.conf'), access);
      if (certificate === undefined) return;
      for (const [name, text] of Object.entries({
        'server.crt': certificate.certificate,
        'server.key': certificate.key,
      })) {
        // PostgreSQL takes no key that others may read.
        const write = asServerUser(['sh', '-c', 'umask 077 && cat > "$0"', join(folder, 'data', name)]);
        const writing = Bun.spawn(write, { stdin: new Blob([text]) });
        if ((await writing.exited) !== 0) throw new Error(`${name} was not written.`);
      }
    },
    command: (folder, port) => {
      const settings = {
        listen_addresses: '127.0.0.1',
        port,
        unix_socket_directories: '',
        // Enough for the test files that run at once when they share the server.
        max_connections: 300,
        // A server that is killed loses nothing by it: no test takes the machine's power away.
        fsync: 'off',
        full_page_writes: 'off',
        ssl: certificate === undefined ? 'off' : 'on',
      };
      const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      return [postgres, '-D', join(folder, 'data'), ...options];
    },
    async answers(url, folder) {
      await using sql = new SQL(url, { max: 1, connectionTimeout: 5 });
      return sql`SHOW data_directory`.then(
        (rows: { data_directory: string }[]) => rows[0]?.data_directory === join(folder, 'data'),
        () => false,
      );
    },
  };
}

function redisKind(program: string): ServerKind {
  return {
    scheme: 'redis://',
    path: '',
    prepare: async () => {},
    command: (folder, port) => {
      const settings = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no' };
      return [program, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`])];
    },
    async answers(url, folder) {
      const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 5_000 });
      try {
        await client.connect();
        const { dir } = (await client.send('CONFIG', ['GET', 'dir'])) as { dir?: string };
        return dir === folder;
      } catch {
        return false;
      } finally {
        client.close();
      }
    },
  };
}

function uniqueName(): string {
  return `animal_store_test_${randomBytes(6).toString('hex')}`;
}

async function deletePrefixes(redisUrl: string, prefixes: readonly string[]): Promise<void> {
  if (prefixes.length === 0) return;
  const client = new RedisClient(redisUrl);
  for (const prefix of prefixes) {
    const keys = await client.keys(`${prefix}*`);
    if (keys.length > 0) await client.del(...keys);
  }
  client.close();
}
