/** Suggests commands that create a missing database or role. */
import { isMissingDatabase, isMissingRole } from './failures.ts';

/** Returns a space and a sentence with the command, or an empty string for other errors. */
export function remedyOf(error: unknown, url: string): string {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  const server = `-h ${hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'} -p ${port || '5432'}`;
  const user = decodeURIComponent(username);
  if (isMissingRole(error)) {
    return ` To create the role, run as an administrator of the server: createuser ${server} -U postgres --pwprompt ${quoted(user)}`;
  }
  if (!isMissingDatabase(error)) return '';
  const database = searchParams.get('dbname') ?? decodeURIComponent(pathname.slice(1));
  const owner = user === '' ? '' : ` -O ${quoted(user)}`;
  return ` To create it, run as an administrator of the server: createdb ${server} -U postgres${owner} ${quoted(database || user)}`;
}

function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
