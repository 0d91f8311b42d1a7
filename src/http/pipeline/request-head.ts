import type { ApiError } from '../../contract/api-error.ts';
import { isInNetworks, type Network, unmapAddress } from '../../domain/address.ts';
import type { RandomBytes } from '../../domain/key.ts';
import type { Credential } from '../../operations/admission/admission.ts';
import { firstElements, lastElements } from './header-lists.ts';
import { validationError } from './input.ts';

const bearer = /^bearer +\S+$/i;

/**
 * The bearer token of the Authorization header (RFC 6750 section 2.1; the scheme is case-insensitive, RFC 9110 section
 * 11.1). The values of a repeated header arrive joined by commas, which makes the credential malformed.
 */
export function readCredential(headers: Headers): Credential {
  const authorization = headers.get('authorization');
  if (authorization === null || authorization === '') return { kind: 'none' };
  if (!bearer.test(authorization)) return { kind: 'malformed' };
  return { kind: 'key', key: authorization.slice(authorization.lastIndexOf(' ') + 1) };
}

/**
 * The address of the client behind a connection. `X-Forwarded-For` is read from right to left, as long as the address
 * belongs to a trusted proxy, for at most `maxElements` addresses.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: readonly Network[],
): string {
  let address = unmapAddress(peer) ?? peer;
  if (forwardedFor === null || trusted.length === 0) return address;
  for (const hop of lastElements(forwardedFor)) {
    if (!isInNetworks(address, trusted)) break;
    const next = unmapAddress(withoutPort(hop));
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/**
 * A request id from a client. An id that contains an API key or another secret is not accepted, because request ids are
 * logged.
 */
const ownRequestId = /^(?=[A-Za-z0-9._-]{1,64}$)(?!.*as[kosp]_[0-9A-Za-z]{38})/;

/** The id of a request: the id that the client sent if it is acceptable, otherwise a new id. */
export function chooseRequestId({ headers }: Request, generate: () => string): string {
  const sent = headers.get('x-request-id');
  return sent !== null && ownRequestId.test(sent) ? sent : generate();
}

/** Generates request ids that consist of a random part per process and a counter. */
export function createRequestIdGenerator(randomBytes: RandomBytes): () => string {
  const processPart = Buffer.from(randomBytes(9)).toString('base64url').replace(/_/g, '.');
  let count = 0;
  return () => `${processPart}-${++count}`;
}

/**
 * Whether a request has several Host headers, which the runtime joins with a comma and a space. Such a request must be
 * answered with 400 (RFC 9112, section 3.2), because a proxy and the service could read different hosts from it.
 */
export function hasMultipleHosts({ headers }: Request): boolean {
  return headers.get('host')?.includes(', ') ?? false;
}

export function multipleHostsError(): ApiError {
  return validationError([{ in: 'header', name: 'Host', message: 'must be sent once' }]);
}

/** Version, trace id, parent id and flags. Later versions may append more fields (W3C Trace Context, section 4.3). */
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** The trace id of a request; undefined if the header is missing or malformed. */
export function parseTraceId(header: string | null): string | undefined {
  const [, version, traceId, more] = traceparent.exec(header ?? '') ?? [];
  return version === '00' && more !== undefined ? undefined : traceId;
}

/**
 * Whether the client accepts gzip (RFC 9110, section 12.5.3), as one of its first `maxElements` codings. A server need not
 * use a coding that the client accepts.
 */
export function acceptsGzip({ headers }: Request): boolean {
  const weights = new Map<string, number>();
  for (const item of firstElements((headers.get('accept-encoding') ?? '').toLowerCase())) {
    const [coding = '', weight = 'q=1'] = item.split(';', 2).map((part) => part.trim());
    weights.set(coding, Number(weight.slice('q='.length)));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Browsers send at most 180 cookies of a host. */
const maxCookies = 200;

/** The value of one of the last `maxCookies` cookies (RFC 6265, section 4.2); the last value if there are several. */
export function readCookie({ headers }: Request, name: string): string | undefined {
  const pairs = lastElements(headers.get('cookie') ?? '', ';', maxCookies);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
