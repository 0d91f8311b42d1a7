/**
 * Connection poolers such as PgBouncer with `pool_mode = transaction`. Each transaction may run in another of their
 * sessions on the server, and a client's settings and prepared statements are not kept.
 */
import { SQL } from 'bun';

/** A server accepts any parameter with a dot, and keeps it for the session. Poolers reject or drop it. */
const mark = 'animal_store.session';

/** Parameters that only a session has. */
export const sessionMark = { [mark]: 'kept' } as const;

/** Session parameters that a URL may set. */
const sessionParameters = ['search_path', 'options'] as const;

/** The connection leads to a pooler, and has to be opened accordingly. */
export class BehindPooler extends Error {}

/** Throws `BehindPooler` if the server does not know the session's mark. */
export async function expectSession(sql: SQL): Promise<void> {
  // A prepared statement would remain in a session that the pooler assigns to others.
  const [row] = await sql.unsafe(`SELECT current_setting('${mark}', true) AS kept`).simple();
  if (row?.kept !== sessionMark[mark]) throw new BehindPooler('The session is not kept.');
}

export function isRefusedByPooler(error: unknown): boolean {
  return error instanceof SQL.PostgresError && /unsupported startup parameter/.test(error.message);
}

/** The URL without the parameters that poolers reject. */
export function urlForPooler(url: string): string {
  const shorter = new URL(url);
  for (const name of sessionParameters) shorter.searchParams.delete(name);
  return shorter.href;
}

/** Settings of the sessions behind a pooler, for example from its `connect_query` or the role. */
export async function settingsOf(sql: SQL): Promise<ReadonlyMap<string, string>> {
  const rows: { name: string; setting: string }[] = await sql
    .unsafe(`SELECT name, setting FROM pg_settings WHERE name = 'search_path' OR name LIKE '%timeout'`)
    .simple();
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

/** Throws if the sessions use another schema than the URL's, which could contain another store. */
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
