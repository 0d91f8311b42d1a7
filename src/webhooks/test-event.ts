/** The event `webhook.test`, which is in no feed. */
import type { WebhookTest } from '../contract/deliveries.ts';
import type { Clock } from '../domain/clock.ts';
import { errorText, type Impossible, requestOf } from './attempt.ts';
import { SecretUnreadable } from './secrets.ts';
import type { Outcome, Sender } from './send.ts';

/** Its secrets are sealed. */
export interface TestedWebhook {
  readonly id: bigint;
  readonly url: string;
  readonly secret: string;
  readonly formerSecret?: string | undefined;
  readonly formerSecretUntil?: number | undefined;
}

interface TestParts {
  readonly sender: Pick<Sender, 'send'>;
  readonly clock: Clock;
  readonly openSecret: (sealed: string) => string;
}

export async function sendTest(webhook: TestedWebhook, parts: TestParts): Promise<WebhookTest> {
  const outcome = await attempt(webhook, parts);
  const { milliseconds } = outcome;
  if ('error' in outcome) return { milliseconds, error: errorText(outcome) };
  return { status: outcome.status, milliseconds, body: outcome.body };
}

async function attempt(
  { id, url, secret, formerSecret, formerSecretUntil }: TestedWebhook,
  { sender, clock, openSecret }: TestParts,
): Promise<Outcome | Impossible> {
  const now = clock.now();
  const timestamp = new Date(now).toISOString();
  const message = {
    ...{ url, secret, formerSecret: formerSecret ?? null, formerSecretUntil: formerSecretUntil ?? null },
    eventId: `test_${id}_${now}`,
    body: `{"id":0,"type":"webhook.test","timestamp":"${timestamp}","data":{"id":${id}}}`,
  };
  try {
    return await sender.send(requestOf(message, now, openSecret));
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error;
    return { error: 'secret', message: error.message, milliseconds: 0 };
  }
}
