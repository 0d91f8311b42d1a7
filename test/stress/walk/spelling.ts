/** Serializes a request in one of the many forms that HTTP allows. */
import type { Chance } from '../generate/chance.ts';
import { authorization, bytesOf, encoded, incidental } from '../generate/http.ts';
import { headersOf, isRead, type Request } from './request.ts';

interface Spelled {
  readonly bytes: Uint8Array;
  /** The `X-Request-Id` that the service must return. */
  readonly ownId: string | undefined;
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-';

export function spelled(request: Request, key: string, chance: Chance): Spelled {
  const { method, body } = request;
  const credentials = request.credentials?.(key, chance).map((value) => ['Authorization', value] as const);
  const ownId = chance.often(0.2) ? anyId(chance) : undefined;
  const headers = chance.shuffled([
    ...(credentials ?? [authorization(key, chance)]),
    ...Object.entries(headersOf(request)),
    ...incidental(chance),
    ...(ownId === undefined ? [] : [['X-Request-Id', ownId] as const]),
  ]);
  // The runtime closes the connection after a GET or TRACE with a chunked body, regardless of the path.
  const isChunked = method !== 'GET' && method !== 'TRACE' && chance.often(0.15);
  const bytes = bytesOf({
    method,
    target: isRead(request) ? spelledTarget(request.target, chance) : request.target,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? Buffer.from(body) : body }),
    ...(isChunked && { chunks: [chance.int(1, 40), chance.int(80, 400)] }),
  });
  return { bytes, ownId };
}

function anyId(chance: Chance): string {
  return Array.from({ length: chance.pick([1, 8, 63, 64]) }, () => chance.pick([...idCharacters])).join('');
}

/**
 * The target with its parameters in random order. Some characters of parameters and ids are percent-encoded
 * unnecessarily.
 */
function spelledTarget(target: string, chance: Chance): string {
  if (target.includes('%')) return target;
  const [path = '', query] = target.split('?');
  const id = path.replace(/(?<=\/)-?\d+/, (text) => encoded(text, chance));
  if (query === undefined) return id + chance.pick(['', '', '?']);
  const parameters = chance.shuffled(query.split('&')).map((parameter) => {
    const [name = '', ...value] = parameter.split('=');
    return [encoded(name, chance), ...value.map((text) => encoded(text, chance))].join('=');
  });
  return `${id}?${parameters.join(chance.pick(['&', '&', '&&']))}`;
}
