/**
 * Support for connection poolers such as PgBouncer with `pool_mode = transaction`. Each transaction may run in a
 * different server session, so a client's settings and prepared statements are lost.
 */
import { SQL } from 'bun';

/**
 * PostgreSQL accepts any parameter with a dot in its name and keeps it for the session. Poolers reject or drop such
 * parameters.
 */
const mark = 'animal_store.session';

/** Startup parameter that is not set in sessions behind a pooler. */
export const sessionMarker = { [mark]: 'kept' } as const;

/** Session parameters that a URL may set. */
const sessionParameters = ['search_path', 'options'] as const;

/** The connection goes through a pooler, and must be opened with `throughPooler`. */
export class BehindPooler extends Error {}

/** Throws `BehindPooler` if the session lacks the startup parameter. */
export async function expectSession(sql: SQL): Promise<void> {
  // A prepared statement would remain in a session that the pooler later assigns to other clients.
  const [row] = await sql.unsafe(`SELECT current_setting('${mark}', true) AS kept`).simple();
  if (row?.kept !== sessionMarker[mark]) throw new BehindPooler('The connection has no dedicated session.');
}

export function isPoolerRefusal(error: unknown): boolean {
  return error instanceof SQL.PostgresError && /unsupported startup parameter/.test(error.message);
}

/** Returns the URL without the parameters that poolers reject. */
export function urlForPooler(url: string): string {
  const shorter = new URL(url);
  for (const name of sessionParameters) shorter.searchParams.delete(name);
  return shorter.href;
}

/**
 * Reads the settings of sessions behind a pooler, which may come from the pooler's `connect_query` or from the role.
 */
export async function readSessionSettings(sql: SQL): Promise<ReadonlyMap<string, string>> {
  const rows: { name: string; setting: string }[] = await sql
    .unsafe(`SELECT name, setting FROM pg_settings WHERE name IN ('search_path', 'default_transaction_isolation', 'jit')
         OR name LIKE '%timeout'`)
    .simple();
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

/** Throws if the sessions use a different schema than the URL, because that schema may contain another store. */
export function checkSchema(settings: ReadonlyMap<string, string>, url: string): void {
  const { searchParams } = new URL(url);
  const wanted = searchParams.get('search_path');
  if (searchParams.has('options')) throw unkept('options', 'the settings');
  if (wanted === null || withoutSpaces(settings.get('search_path')) === withoutSpaces(wanted)) return;
  throw unkept('search_path', 'search_path');
}

function unkept(parameter: string, setting: string): Error {
  return new Error(
    `the connection pooler does not pass on ${parameter} of DATABASE_URL. Set ${setting} for the role ` +
      '(ALTER ROLE … IN DATABASE … SET …) or in the pooler (connect_query of PgBouncer)',
  );
}

const withoutSpaces = (text: string | undefined) => text?.replaceAll(/\s/g, '');
