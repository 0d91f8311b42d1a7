/** Receives webhooks as Standard Webhooks 1.0 signs them: https://www.standardwebhooks.com */
import type { Event } from './contract.js';
import { ArgumentError, WebhookError } from './errors.js';
import { parseJson } from './json.js';

/** What `testWebhook` sends. */
export interface WebhookTestEvent {
  readonly id: bigint;
  readonly type: 'webhook.test';
  readonly timestamp: string;
  readonly data: unknown;
}

type Bytes = Uint8Array<ArrayBuffer>;

export type WebhookEvent = Event | WebhookTestEvent;

/** `Headers`, or an object such as `request.headers` of Node.js; names in any case. */
export type RawHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The largest difference of the clocks, and the longest time on the way. */
const toleranceSeconds = 300;

/**
 * The event of a delivery, if the signature is right. Throws WebhookError if it is not, or was made more than 5 minutes ago: a copy
 * that was sent again later. Pass the body exactly as received, and during a rotation several secrets. The same event may be delivered
 * several times, with the same `webhook-id`.
 */
export async function verifyWebhook(
  secret: string | readonly string[],
  headers: RawHeaders,
  body: string | Uint8Array | ArrayBuffer,
): Promise<WebhookEvent> {
  const secrets = [secret].flat().map(keyOf);
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ArrayBuffer;
  if (!isRaw)
    throw new ArgumentError('body must be the body as received, text or bytes, not what it parses to.');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = signaturesOf(headerOf(headers, 'webhook-signature'));
  const age = Date.now() / 1_000 - (/^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN);
  if (!(Math.abs(age) <= toleranceSeconds))
    throw new WebhookError(
      `webhook-timestamp is ${timestamp}, more than ${toleranceSeconds / 60} minutes from this machine's time.`,
    );
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  for (const key of secrets)
    for (const signature of signatures) if (await isSigned(key, signature, signed)) return eventOf(bytes);
  throw new WebhookError('webhook-signature has no signature of this body with this secret.');
}

/** Compares in constant time, as WebCrypto does. */
async function isSigned(raw: Bytes, signature: Bytes, signed: Bytes): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  return crypto.subtle.verify('HMAC', key, signature, signed);
}

function keyOf(secret: string): Bytes {
  const key = /^whsec_./.test(secret) ? bytesOf(secret.slice(6)) : undefined;
  if (key === undefined) throw new ArgumentError('secret must be that of a webhook, whsec_ and base64.');
  return key;
}

/** The signatures of version 1; others are ignored. */
function signaturesOf(header: string): Bytes[] {
  return header
    .split(' ')
    .flatMap((signature) => (signature.startsWith('v1,') ? [bytesOf(signature.slice(3))] : []))
    .filter((signature) => signature !== undefined);
}

function bytesOf(base64: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function headerOf(headers: RawHeaders, name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([field]) => field.toLowerCase() === name)?.[1];
  if (value) return String(value);
  throw new WebhookError(`The request has no header ${name}.`);
}

/** Frameworks have their own classes of headers. */
function isHeaders(headers: RawHeaders): headers is Headers {
  return typeof headers.get === 'function';
}

function eventOf(body: Uint8Array): WebhookEvent {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body)) as WebhookEvent;
  } catch (cause) {
    throw new WebhookError('The body is signed, but it is not JSON.', cause);
  }
}
