import { SQL } from 'bun';
import type { OwnServer } from '../support/servers.ts';

/** Makes a running PostgreSQL server reject the service. */
export interface Refusal {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  /** The service's log message while PostgreSQL rejects it. */
  readonly reason: RegExp;
}

const [role, password, name] = ['shop', 'correct horse', 'animals'];

/** A dedicated database, with a role that has only the required privileges. */
export class ShopDatabase {
  readonly url: string;
  readonly #server: string;

  private constructor(server: string) {
    this.#server = server;
    const url = new URL(server);
    url.username = role;
    url.password = password;
    url.pathname = `/${name}`;
    this.url = url.href;
  }

  static async make({ url }: OwnServer): Promise<ShopDatabase> {
    const made = new ShopDatabase(url);
    await made.#admin(
      `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`,
      `CREATE DATABASE ${name} OWNER ${role}`,
    );
    return made;
  }

  /** Ends the role's sessions and limits the number of new sessions. -1 removes the limit. */
  async allowConnections(count: number): Promise<void> {
    await this.#alterRole(`CONNECTION LIMIT ${count}`);
    await this.#endSessions();
  }

  /** Number of the role's sessions. */
  async sessions(): Promise<number> {
    const of = `FROM pg_stat_activity WHERE usename = '${role}'`;
    const [row] = await this.#admin(`SELECT count(*)::integer AS count ${of}`);
    return Number(row?.count);
  }

  /** Runs statements in the database as an administrator. */
  inside(...statements: string[]): Promise<Record<string, unknown>[]> {
    return run(this.#server.replace(/\/\w+$/, `/${name}`), statements);
  }

  refusals(): Readonly<Record<string, Refusal>> {
    return {
      ...this.#ofLogin(),
      'the role may not read': this.#ofPermission('SELECT'),
      'the role may not write': this.#ofPermission('INSERT'),
      // Simulates the state after a failover: the server accepts writes again, but open sessions are still read-only.
      'its sessions are read-only': {
        begin: () => this.#readOnly('on').then(() => this.#endSessions()),
        end: () => this.#readOnly('off'),
        reason: /read-only transaction/,
      },
      'its disk is full': {
        begin: () =>
          this.inside(
            `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
             END $$`,
            'CREATE TRIGGER full_disk BEFORE INSERT ON pets EXECUTE FUNCTION full_disk()',
          ),
        end: () => this.inside('DROP FUNCTION full_disk CASCADE'),
        reason: /No space left on device/,
      },
    };
  }

  #ofLogin(): Record<string, Refusal> {
    const altered = (change: string, back: string, reason: RegExp): Refusal => ({
      begin: () => this.#alterRole(change).then(() => this.#endSessions()),
      end: () => this.#alterRole(back),
      reason,
    });
    return {
      'its password was changed': altered(
        `PASSWORD 'battery staple'`,
        `PASSWORD '${password}'`,
        /password authentication failed/,
      ),
      'the role may not log in': altered('NOLOGIN', 'LOGIN', /not permitted to log in/),
      'the role may not open connections': altered(
        'CONNECTION LIMIT 0',
        'CONNECTION LIMIT -1',
        /too many connections/,
      ),
      'its database was renamed': {
        begin: () => this.#rename(name, 'elsewhere'),
        end: () => this.#rename('elsewhere', name),
        // Logins are disabled while the database is renamed.
        reason: /not permitted to log in|database .*animals.* does not exist/,
      },
    };
  }

  #ofPermission(privilege: string): Refusal {
    return {
      begin: () => this.inside(`REVOKE ${privilege} ON pets FROM ${role}`),
      end: () => this.inside(`GRANT ${privilege} ON pets TO ${role}`),
      reason: /permission denied for table pets/,
    };
  }

  #readOnly(state: 'on' | 'off'): Promise<unknown> {
    return this.#admin(`ALTER DATABASE ${name} SET default_transaction_read_only = ${state}`);
  }

  /** Disables logins and ends all sessions, because a database can be renamed only while it has no connections. */
  async #rename(from: string, to: string): Promise<void> {
    await this.#alterRole('NOLOGIN');
    while ((await this.sessions()) > 0) await this.#endSessions();
    await this.#admin(`ALTER DATABASE ${from} RENAME TO ${to}`);
    await this.#alterRole('LOGIN');
  }

  #alterRole(change: string): Promise<unknown> {
    return this.#admin(`ALTER ROLE ${role} ${change}`);
  }

  #endSessions(): Promise<unknown> {
    return this.#admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
  }

  #admin(...statements: string[]): Promise<Record<string, unknown>[]> {
    return run(this.#server, statements);
  }
}

async function run(url: string, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  await using sql = new SQL(url, { max: 1 });
  let rows: Record<string, unknown>[] = [];
  for (const statement of statements) rows = await sql.unsafe(statement);
  return rows;
}
