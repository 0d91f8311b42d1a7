/** Signatures according to Standard Webhooks 1.0 (standardwebhooks.com). */
import { createHmac } from 'node:crypto';
import type { RandomBytes } from '../domain/key.ts';

const secretPrefix = 'whsec_';
/** The standard allows 24 to 64 bytes. */
const secretBytes = 32;

export function generateWebhookSecret(randomBytes: RandomBytes): string {
  return secretPrefix + Buffer.from(randomBytes(secretBytes)).toString('base64');
}

interface SignedMessage {
  /** Id of the event. All attempts have the same id. */
  readonly eventId: bigint | number | string;
  readonly body: string | Uint8Array;
  /** Time of the attempt, in Unix ms. */
  readonly nowMs: number;
}

/** The three headers that a receiver verifies, with one signature per secret. */
export function signHeaders(
  { eventId, body, nowMs }: SignedMessage,
  secrets: readonly string[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const id = `evt_${eventId}`;
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
