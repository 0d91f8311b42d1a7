/** Parameters of a database address that may be shown; any other one may be a password. */
const harmlessParameters: ReadonlySet<string> = new Set(['search_path', 'sslmode', 'application_name']);

/**
 * A server's address as it may be shown and logged: every part that could be a secret is `***`. Text that is no such
 * address is shown up to its first colon only, for a slip elsewhere in it must not print the password; a plain path is
 * shown whole.
 */
export function maskedUrl(text: string): string {
  const trimmed = text.trim();
  if (/^(?:sqlite:|[\w./~-]*$)/.test(trimmed)) return trimmed;
  // An unescaped @, /, ? or # in a password would shift its rest into the host, the path or a parameter.
  const isUnambiguous = /^[a-z][\w+.-]*:\/\/[^@/?#]*(?:@[^@]*|[/?#][^@]*)?$/i.test(trimmed);
  const url = isUnambiguous ? URL.parse(trimmed) : null;
  if (url === null) return `${/^[a-z][\w+.-]*:/i.exec(trimmed)?.[0] ?? ''}***`;
  const user = url.username === '' && url.password === '' ? '' : `${url.username}:***@`;
  const parameters = [...url.searchParams].map(
    ([name, value]) => `${name}=${harmlessParameters.has(name) ? value : '***'}`,
  );
  const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  return `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
