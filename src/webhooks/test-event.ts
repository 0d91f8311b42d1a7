/** Sends the event `webhook.test`, which is not recorded in the feed. */
import type { WebhookTest } from '../contract/deliveries.ts';
import type { Clock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import { errorText, type Send } from './attempt.ts';

/** The webhook to test, with encrypted secrets. */
export interface TestedWebhook {
  readonly id: bigint;
  readonly accountId: number;
  readonly url: string;
  readonly secret: string;
  readonly formerSecret?: string | undefined;
  readonly formerSecretUntil?: number | undefined;
}

export async function sendTest(
  { id, accountId, url, secret, formerSecret, formerSecretUntil }: TestedWebhook,
  {
    send,
    clock,
    randomBytes,
  }: { readonly send: Send; readonly clock: Clock; readonly randomBytes: RandomBytes },
): Promise<WebhookTest> {
  const now = clock.now();
  const timestamp = new Date(now).toISOString();
  const message = {
    ...{ webhookId: id, accountId, url, secret },
    ...{ formerSecret: formerSecret ?? null, formerSecretUntil: formerSecretUntil ?? null },
    // Random, so that a receiver that ignores duplicates sees every test.
    eventId: `test_${Buffer.from(randomBytes(16)).toString('hex')}`,
    body: `{"id":0,"type":"webhook.test","timestamp":"${timestamp}","data":{"id":${id}}}`,
  };
  const outcome = await send(message, now);
  const { milliseconds } = outcome;
  if ('error' in outcome) {
    return { milliseconds, error: errorText(outcome), isBlocked: outcome.error === 'blocked' };
  }
  return { status: outcome.status, milliseconds, body: outcome.body };
}
