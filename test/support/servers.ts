/**
 * Real database servers for tests: the servers at TEST_POSTGRES_URL and TEST_REDIS_URL, or private servers started from
 * installed programs. TEST_REDIS_SERVER selects the program for Redis. If a program is missing, tests that need it are
 * skipped with a message, or fail with CI=true.
 */

import { randomBytes } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RedisClient, SQL } from 'bun';
import { isTransactionConflict } from '../../src/storage/postgres/failures.ts';
import type { Certificate } from './certificates.ts';
import { makeData, run } from './postgres-data.ts';
import { missing } from './requirements.ts';
import { asServerUser, findProgram, type OwnServer, ownServer, type ServerKind } from './server-process.ts';

export type { OwnServer } from './server-process.ts';

/** Creates separate schemas, databases and key prefixes for a test file. */
export interface TestServers extends AsyncDisposable {
  /** Creates an empty schema. Returns a PostgreSQL URL that uses this schema. */
  makeSchema(): Promise<{ readonly url: string } & AsyncDisposable>;
  /** Creates an empty database. Returns the database's PostgreSQL URL. `encoding` defaults to that of the server. */
  makeDatabase(encoding?: string): Promise<{ readonly url: string } & AsyncDisposable>;
  readonly redisUrl: string;
  /** Returns a unique prefix for Redis keys. Keys with this prefix are deleted at the end. */
  makePrefix(): string;
}

/** Returns undefined if no database servers are available for tests. */
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
        [Symbol.asyncDispose]: () => dropSchema(sql, schema),
      };
    },
    async makeDatabase(encoding) {
      const database = uniqueName();
      const encoded = encoding === undefined ? '' : `TEMPLATE template0 LOCALE 'C' ENCODING '${encoding}'`;
      await sql.unsafe(`CREATE DATABASE ${database} ${encoded}`);
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

/** Retries after a deadlock with a statement of a closed connection that the server is still executing. */
async function dropSchema(sql: SQL, schema: string): Promise<void> {
  try {
    await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    await dropSchema(sql, schema);
  }
}

/**
 * Starts a dedicated PostgreSQL server, with TLS if a certificate is given. Returns undefined if PostgreSQL is not
 * installed.
 */
export async function ownPostgres(certificate?: Certificate): Promise<OwnServer | undefined> {
  const initdb = findProgram('initdb');
  const postgres = findProgram('postgres');
  if (initdb === undefined || postgres === undefined) {
    return missing({ name: 'PostgreSQL', package: 'postgresql' });
  }
  return ownServer(postgresKind(initdb, postgres, certificate));
}

/** Starts a streaming replica of a dedicated server. Returns undefined if PostgreSQL is not installed. */
export const ownReplica = (primary: OwnServer) => ownCopy(primary, ['-R']);

/**
 * Starts a copy of a dedicated server, which is a primary on the same timeline. `options` are for `pg_basebackup`.
 * Returns undefined if PostgreSQL is not installed.
 */
export async function ownCopy(
  primary: OwnServer,
  options: readonly string[] = [],
): Promise<OwnServer | undefined> {
  const copy = findProgram('pg_basebackup');
  const postgres = findProgram('postgres');
  if (copy === undefined || postgres === undefined) {
    return missing({ name: 'PostgreSQL', package: 'postgresql' });
  }
  const { hostname, port } = new URL(primary.url);
  return ownServer({
    ...postgresKind('', postgres),
    async prepare(folder) {
      const from = ['-h', hostname, '-p', port, '-U', 'postgres', '--checkpoint=fast', '--no-sync'];
      await run([copy, ...from, ...options, '-D', join(folder, 'data')]);
      // With this setting, the replica reconnects immediately to a restarted primary.
      const settings = "wal_retrieve_retry_interval = '50ms'\n";
      await appendFile(join(folder, 'data', 'postgresql.auto.conf'), settings);
    },
  });
}

/** Path of the Redis or Valkey server program. Undefined if neither is installed. */
export function redisProgram(): string | undefined {
  const named = process.env.TEST_REDIS_SERVER;
  const names = named === undefined ? ['redis-server', 'valkey-server'] : [named];
  return names.map(findProgram).find((path) => path !== undefined);
}

/** Starts a dedicated Redis or Valkey server with additional settings. Returns undefined if neither is installed. */
export async function ownRedis(
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer | undefined> {
  const program = redisProgram();
  return program === undefined
    ? missing({ name: 'Redis or Valkey', package: 'redis-server' })
    : ownServer(redisKind(program, settings));
}

function postgresKind(initdb: string, postgres: string, certificate?: Certificate): ServerKind {
  return {
    scheme: 'postgres://postgres@',
    path: '/postgres',
    async prepare(folder) {
      await makeData(initdb, join(folder, 'data'));
      // Roles created by tests log in with a password.
      const access = 'host all,replication postgres all trust\nhost all all all scram-sha-256\n';
      await Bun.write(join(folder, 'data', 'pg_hba.conf'), access);
      if (certificate === undefined) return;
      for (const [name, text] of Object.entries({
        'server.crt': certificate.certificate,
        'server.key': certificate.key,
      })) {
        // PostgreSQL rejects a private key that other users can read.
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
        // Enough connections for all test files that use the server concurrently.
        max_connections: 300,
        // Without fsync, only a power loss would lose data. Killing the server does not.
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

function redisKind(program: string, more: Readonly<Record<string, string>>): ServerKind {
  return {
    scheme: 'redis://',
    path: '',
    prepare: async () => {},
    command: (folder, port) => {
      const settings = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no', ...more };
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
