/** Parameters of a database URL that may be shown. Other parameters may contain passwords. */
const harmlessParameters: ReadonlySet<string> = new Set(['search_path', 'sslmode', 'application_name']);

/**
 * A server's URL for display and logs, with every possible secret replaced by `***`. Other text is shown only
 * up to its first colon, so that a malformed URL does not reveal its password. A plain path is shown
 * completely.
 */
export function maskedUrl(text: string): string {
  const trimmed = text.trim();
  if (/^(?:sqlite:|[\w./~-]*$)/.test(trimmed)) return trimmed;
  // After an unescaped @, /, ? or # in a password, its rest would appear in the host, the path or a parameter.
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
