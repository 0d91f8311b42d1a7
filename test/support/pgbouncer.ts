/** A PgBouncer in transaction mode, in front of a PostgreSQL server. Tests can stop or break it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { missing } from './requirements.ts';
import { findProgram, type OwnServer, ownServer, type ServerKind } from './server-process.ts';

export interface PgBouncerOptions {
  /** Additional PgBouncer settings. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** SQL that runs in every session on the server. */
  readonly connectQuery?: string;
}

/** Path of the PgBouncer program. Undefined if PgBouncer is not installed. */
export function pgBouncerProgram(): string | undefined {
  return findProgram('pgbouncer') ?? missing({ name: 'PgBouncer', package: 'pgbouncer' });
}

/**
 * Starts a PgBouncer that serves the server's databases under the same names. Returns undefined if PgBouncer is not
 * installed.
 */
export async function ownPgBouncer(
  serverUrl: string,
  options: PgBouncerOptions = {},
): Promise<OwnServer | undefined> {
  const program = pgBouncerProgram();
  return program === undefined ? undefined : ownServer(pgBouncerKind(program, new URL(serverUrl), options));
}

/** URL of a server's database through PgBouncer. */
export function throughPgBouncer({ url: bouncerUrl }: OwnServer, databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.port = new URL(bouncerUrl).port;
  return url.href;
}

function pgBouncerKind(
  program: string,
  { hostname, port: serverPort, username }: URL,
  { settings, connectQuery }: PgBouncerOptions,
): ServerKind {
  const database = [`host=${hostname}`, `port=${serverPort}`];
  if (connectQuery !== undefined) database.push(`connect_query='${connectQuery}'`);
  return {
    scheme: `postgres://${username}@`,
    path: '/pgbouncer',
    // Before 1.21, it can exit when a statement is canceled while PostgreSQL hangs (pgbouncer#801, pgbouncer#822).
    isRestarted: true,
    prepare: async (folder) => writeFileSync(join(folder, 'users.txt'), `"${username}" ""\n`),
    command: (folder, port) => {
      const all = {
        listen_addr: '127.0.0.1',
        listen_port: port,
        unix_socket_dir: '',
        auth_type: 'trust',
        auth_file: join(folder, 'users.txt'),
        admin_users: username,
        pool_mode: 'transaction',
        // Retries a failed login to PostgreSQL after one second.
        server_login_retry: 1,
        ...settings,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
      const text = ['[databases]', `* = ${database.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n');
      writeFileSync(join(folder, 'pgbouncer.ini'), text);
      return [program, '-q', join(folder, 'pgbouncer.ini')];
    },
    async answers(url, folder) {
      await using sql = new SQL(url, { max: 1, connectionTimeout: 5 });
      return sql
        .unsafe('SHOW CONFIG')
        .simple()
        .then(
          (rows: { key: string; value: string }[]) =>
            rows.some(({ key, value }) => key === 'auth_file' && value === join(folder, 'users.txt')),
          () => false,
        );
    },
  };
}
