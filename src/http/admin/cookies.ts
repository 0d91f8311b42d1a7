/**
 * The two secrets of a session. Browsers send cookies to every port of a host, so the server on another port receives the one in
 * the cookie. The other one stays in the page, which keeps it by origin and sends it in a header.
 */
import { type SessionSecrets, sessionMs } from '../../operations/sessions.ts';

export const secretHeader = 'X-Session-Secret';

/** Browsers accept this prefix only with `Secure`, and only for the host that sets it (RFC 6265bis, section 4.1.3.2). */
const secureName = '__Host-animal-store-session';

/** Cookies do not tell ports apart, so two services on one machine need two names. */
function plainName({ headers }: Request): string {
  return `animal-store-session-${/:(\d{1,5})$/.exec(headers.get('host') ?? '')?.[1] ?? '80'}`;
}

const nameOf = (request: Request, isSecure: boolean) => (isSecure ? secureName : plainName(request));

/** The secrets that a request has; undefined unless it has both. */
export function sessionSecretsOf(request: Request, isSecure: boolean): SessionSecrets | undefined {
  const inPage = request.headers.get(secretHeader);
  const name = `${nameOf(request, isSecure)}=`;
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  const inCookie = pairs.findLast((pair) => pair.startsWith(name))?.slice(name.length);
  return inPage === null || inCookie === undefined ? undefined : { inCookie, inPage };
}

/** The value of `Set-Cookie` that gives the secret; without one, it removes the cookie. */
export function sessionCookie(request: Request, isSecure: boolean, secret = ''): string {
  const maxAgeSeconds = secret === '' ? 0 : Math.floor(sessionMs / 1_000);
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${nameOf(request, isSecure)}=${secret}; ${attributes}${isSecure ? '; Secure' : ''}`;
}
