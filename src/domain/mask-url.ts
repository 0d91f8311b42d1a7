/** Parameters of a database URL that may be shown. All others may contain passwords. */
const harmlessParameters: ReadonlySet<string> = new Set(['search_path', 'sslmode', 'application_name']);

/**
 * A server URL for display and logs, in which every possible secret is replaced by `***`. Other text is shown only up
 * to its first colon, so that a malformed URL does not reveal its password. A plain path is shown in full.
 */
export function maskUrl(text: string): string {
  const trimmed = text.trim();
  if (/^(?:sqlite:|[\w./~-]*$)/.test(trimmed)) return trimmed;
  // If a password contains an unescaped @, /, ? or #, its remainder would appear in the host, the path or a parameter.
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
