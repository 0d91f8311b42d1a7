/** The cookie of a session. */
import { sessionMs } from '../../operations/sessions.ts';

/** Browsers take this prefix only from https, and never from another host (RFC 6265bis, section 4.1.3.2). */
const secureName = '__Host-animal-store-session';

/** Cookies do not tell ports apart, so two services on one machine need two names. */
function plainName({ headers }: Request): string {
  return `animal-store-session-${/:(\d{1,5})$/.exec(headers.get('host') ?? '')?.[1] ?? '80'}`;
}

/** The secret that the request has; undefined when it has none. */
export function sessionSecretOf(request: Request): string | undefined {
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair): [string, string] => {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    return [name, value];
  });
  const sent = new Map(pairs);
  return sent.get(secureName) ?? sent.get(plainName(request));
}

/** The value of `Set-Cookie` that gives the secret; without one, it takes it away. */
export function sessionCookie(request: Request, isSecure: boolean, secret = ''): string {
  const name = isSecure ? secureName : plainName(request);
  const maxAgeSeconds = secret === '' ? 0 : Math.floor(sessionMs / 1_000);
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${name}=${secret}; ${attributes}${isSecure ? '; Secure' : ''}`;
}
