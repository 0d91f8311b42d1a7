/**
 * Verifies webhook deliveries, which are signed according to Standard Webhooks 1.0:
 * https://www.standardwebhooks.com
 */
import type { SentEvent } from './contract.js';
import { ArgumentError, WebhookError } from './errors.js';
import { parseJson } from './json.js';

/** A recorded event, or `webhook.test`, whose `id` is always 0. Detect duplicates by the header `webhook-id`. */
export type WebhookEvent = SentEvent;

/** `Headers`, or an object such as Node.js's `request.headers`. Header names are case-insensitive. */
export type RawHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Maximum difference between the timestamp of a delivery and the local clock. */
const toleranceSeconds = 300;
/** Number of signatures that are compared. During a rotation, the service sends two. */
const maxSignatures = 16;

/**
 * Verifies a delivery and resolves with its event. Rejects with a WebhookError unless the delivery was signed
 * with the secret within the last 5 minutes, and with an ArgumentError if the secret is undefined or invalid. Pass the
 * body exactly as received, and both secrets during a rotation. An event may be delivered several times with the same
 * `webhook-id`; each test has another one.
 */
export async function verifyWebhook(
  secret: string | undefined | readonly (string | undefined)[],
  headers: RawHeaders,
  body: string | Uint8Array | ArrayBuffer,
): Promise<WebhookEvent> {
  const secrets = [secret].flat().map(decodeSecret);
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    requireHeader(headers, `webhook-${name}`),
  );
  const ageSeconds = Date.now() / 1_000 - Number(timestamp);
  if (!(Math.abs(ageSeconds) <= toleranceSeconds))
    throw new WebhookError(
      `webhook-timestamp ${timestamp} differs from the current time by more than 5 minutes.`,
    );
  const part = body as Uint8Array<ArrayBuffer>;
  const signed = await new Blob([`${id}.${timestamp}.`, part]).arrayBuffer();
  const given = [...`${signatures}`.matchAll(/(?:^| )v1,(\S+)/g)]
    .slice(0, maxSignatures)
    .map(([, signature = '']) => decodeBase64(signature));
  for (const key of secrets) {
    const expected = await sign(key, signed);
    if (given.some((signature) => signature !== undefined && isEqual(signature, expected)))
      return parseJson(await new Blob([part]).text()) as WebhookEvent;
  }
  throw new WebhookError(
    'webhook-signature does not match. Check the secret, and pass the body exactly as received.',
  );
}

async function sign(raw: Uint8Array<ArrayBuffer>, signed: ArrayBuffer): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
}

/** Compares signatures in constant time. */
function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  let difference = given.length ^ expected.length;
  for (const [at, byte] of expected.entries()) difference |= byte ^ (given[at] ?? 0);
  return difference === 0;
}

function decodeSecret(secret = ''): Uint8Array<ArrayBuffer> {
  const [, base64 = ''] = /^whsec_(.+)$/.exec(secret) ?? [];
  const key = decodeBase64(base64);
  if (!key?.length) throw new ArgumentError('secret must be a webhook secret (whsec_…).');
  return key;
}

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function requireHeader(headers: RawHeaders, name: string): string {
  // Some frameworks have a separate Headers class.
  const fields: Iterable<[string, unknown]> = (headers as Headers).entries?.() ?? Object.entries(headers);
  for (const [field, value] of fields) if (value && field.toLowerCase() === name) return String(value);
  throw new WebhookError(`The request has no ${name} header.`);
}
