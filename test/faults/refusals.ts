import { SQL } from 'bun';
import type { OwnServer } from '../support/servers.ts';

/** A way in which PostgreSQL refuses the service, though it runs. */
export interface Refusal {
  begin(): Promise<void>;
  end(): Promise<void>;
  /** What /readyz says of it. */
  readonly reason: RegExp;
  /** What the log says when it begins, where that is something else. */
  readonly firstReason?: RegExp;
}

/** A database of the service's own, under a role that may do what it needs and no more. */
export interface ShopDatabase {
  readonly url: string;
  readonly refusals: Readonly<Record<string, Refusal>>;
  /** Ends the role's sessions, and allows it so many from now on; -1 is any number. */
  allowConnections(count: number): Promise<void>;
  /** How many sessions the role has. */
  sessions(): Promise<number>;
}

const [role, password, database] = ['shop', 'correct horse', 'animals'];

export async function makeShopDatabase(postgres: OwnServer): Promise<ShopDatabase> {
  const url = new URL(postgres.url);
  url.username = role;
  url.password = password;
  url.pathname = `/${database}`;
  const admin = (...statements: string[]) => run(postgres.url, statements);
  const inside = (...statements: string[]) => run(postgres.url.replace(/\/\w+$/, `/${database}`), statements);
  await admin(
    `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`,
    `CREATE DATABASE ${database} OWNER ${role}`,
  );
  const alterRole = (change: string) => admin(`ALTER ROLE ${role} ${change}`);
  const endSessions = async () => {
    await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
  };
  const without = (change: string, back: string, reason: RegExp): Refusal => ({
    begin: async () => {
      await alterRole(change);
      await endSessions();
    },
    end: () => alterRole(back).then(() => undefined),
    reason,
  });
  const sessions = async () => {
    const [row] = await admin(
      `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE usename = '${role}'`,
    );
    return Number(row?.count);
  };
  const rename = async (from: string, to: string) => {
    await alterRole('NOLOGIN');
    while ((await sessions()) > 0) await endSessions();
    await admin(`ALTER DATABASE ${from} RENAME TO ${to}`);
    await alterRole('LOGIN');
  };
  const readOnly = (state: 'on' | 'off') =>
    admin(`ALTER DATABASE ${database} SET default_transaction_read_only = ${state}`);
  return {
    url: url.href,
    sessions,
    allowConnections: async (count) => {
      await alterRole(`CONNECTION LIMIT ${count}`);
      await endSessions();
    },
    refusals: {
      'its password was changed': without(
        `PASSWORD 'battery staple'`,
        `PASSWORD '${password}'`,
        /password authentication failed/,
      ),
      'its role may not log in': without('NOLOGIN', 'LOGIN', /not permitted to log in/),
      'it allows no connection': without('CONNECTION LIMIT 0', 'CONNECTION LIMIT -1', /too many connections/),
      'its database was renamed': {
        begin: () => rename(database, 'elsewhere'),
        end: () => rename('elsewhere', database),
        reason: /database "animals" does not exist/,
        firstReason: /not permitted to log in|does not exist/,
      },
      'it permits no reading': {
        begin: () => inside(`REVOKE SELECT ON pets FROM ${role}`).then(() => undefined),
        end: () => inside(`GRANT SELECT ON pets TO ${role}`).then(() => undefined),
        reason: /permission denied for table pets/,
      },
      'it permits no writing': {
        begin: () => inside(`REVOKE INSERT ON pets FROM ${role}`).then(() => undefined),
        end: () => inside(`GRANT INSERT ON pets TO ${role}`).then(() => undefined),
        reason: /permission denied for table pets/,
      },
      // As after a failover: the server writes again, and the sessions that are open do not.
      'its sessions are read-only': {
        begin: async () => {
          await readOnly('on');
          await endSessions();
        },
        end: () => readOnly('off').then(() => undefined),
        reason: /read-only transaction/,
      },
      'its disk is full': {
        begin: async () => {
          await inside(
            `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
             END $$`,
            'CREATE TRIGGER full_disk BEFORE INSERT ON pets EXECUTE FUNCTION full_disk()',
          );
        },
        end: () => inside('DROP FUNCTION full_disk CASCADE').then(() => undefined),
        reason: /No space left on device/,
      },
    },
  };
}

async function run(url: string, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  await using sql = new SQL(url, { max: 1 });
  let rows: Record<string, unknown>[] = [];
  for (const statement of statements) rows = await sql.unsafe(statement);
  return rows;
}
