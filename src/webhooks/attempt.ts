/** A delivery attempt, and the effect of its outcome. */
import type { DeliveryAttempt } from '../contract/deliveries.ts';
import type { AttemptOutcome, SettledDelivery, TakenDelivery } from '../domain/delivery.ts';
import { type Attempt, delayAfter, isGone, isSuccess } from './retries.ts';
import { SecretUnreadable } from './secrets.ts';
import type { Delivery, Failure, Outcome, Sender } from './send.ts';
import { signedHeaders } from './signature.ts';

const maxErrorLength = 200;

/** The encrypted secrets of a webhook. */
type SealedSecrets = Pick<TakenDelivery, 'secret' | 'formerSecret' | 'formerSecretUntil'>;

export interface Message extends SealedSecrets {
  readonly webhookId: bigint;
  readonly accountId: number;
  readonly url: string;
  /** Id of the event, without the prefix that the `webhook-id` header adds. */
  readonly eventId: bigint | string;
  readonly body: string;
}

/** Sends a message with `nowMs` as its timestamp (Unix ms). Never rejects. */
export type Send = (message: Message, nowMs: number, signal?: AbortSignal) => Promise<Outcome | Impossible>;

export function sendWith(sender: Sender, openSecret: (sealed: string) => string): Send {
  return async (message, nowMs, signal) => {
    try {
      return await sender.send({ ...requestOf(message, nowMs, openSecret), ...(signal && { signal }) });
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error;
      return { error: 'secret', message: unreadable, milliseconds: 0 };
    }
  };
}

const unreadable =
  'The service cannot decrypt the secret of this webhook. The account can rotate it, or the operator can restore SECRETS_KEY.';

/** Throws `SecretUnreadable`. A previous secret that cannot be decrypted is omitted. */
function requestOf(
  { url, eventId, body, secret, formerSecret, formerSecretUntil }: Message,
  nowMs: number,
  openSecret: (sealed: string) => string,
): Delivery {
  const isSignedTwice = formerSecret !== null && nowMs < (formerSecretUntil ?? 0);
  const former = isSignedTwice ? ifReadable(formerSecret, openSecret) : [];
  return { url, body, headers: signedHeaders({ eventId, body, nowMs }, [openSecret(secret), ...former]) };
}

function ifReadable(sealed: string, openSecret: (sealed: string) => string): string[] {
  try {
    return [openSecret(sealed)];
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error;
    return [];
  }
}

/** The reason why no request was sent: the event has expired, or the secret cannot be decrypted. */
export interface Impossible {
  readonly error: 'expired' | 'secret';
  readonly message: string;
  readonly milliseconds: number;
}

interface Instants {
  /** Start of the attempt, in Unix ms. */
  readonly at: number;
  readonly now: number;
  /** Time of the next attempt if the secret cannot be decrypted, in Unix ms. */
  readonly secretRetryAt: number;
  /** A random number in [0, 1). */
  readonly random: number;
}

interface Judged {
  readonly settled: SettledDelivery;
  /** Undefined if no attempt was made. */
  readonly counted?: AttemptOutcome;
  /** The reason to disable the webhook, unless a delivery has succeeded after `since` (Unix ms). */
  readonly disabled?: { readonly reason: string; readonly since: number | undefined };
}

/**
 * Returns the result of an attempt. After an aborted attempt, the delivery is due again immediately. If the secret
 * cannot be decrypted, the delivery is due at `secretRetryAt`.
 */
export function judge(delivery: TakenDelivery, outcome: Outcome | Impossible, instants: Instants): Judged {
  const { now, secretRetryAt, random } = instants;
  const { id, webhookId, leasedUntil, createdAt } = delivery;
  const lease = { id, webhookId, leasedUntil };
  if ('error' in outcome && outcome.error === 'aborted') return { settled: pendingAgain(delivery, now) };
  if ('error' in outcome && outcome.error === 'secret')
    return { settled: pendingAgain(delivery, secretRetryAt) };
  const made = [...(JSON.parse(delivery.attempts) as DeliveryAttempt[]), attemptOf(outcome, instants.at)];
  const attempts = JSON.stringify(made);
  const finished = { ...lease, attempts, nextAttemptAt: null, finishedAt: now };
  const result = resultOf(outcome);
  if (isSuccess(result)) return { settled: { ...finished, status: 'succeeded' }, counted: 'succeeded' };
  const settled = { ...finished, status: 'failed' } as const;
  if ('error' in outcome && outcome.error === 'expired') return { settled, counted: 'expired' };
  if (isGone(result))
    return { settled, counted: 'failed', disabled: { reason: reasons.gone, since: undefined } };
  const delayMs = delayAfter(made.length, result, random);
  if (delayMs !== undefined) {
    const repeated = pendingAgain({ ...delivery, attempts }, now + delayMs);
    return { settled: repeated, counted: 'repeated' };
  }
  return { settled, counted: 'failed', disabled: { reason: reasons.failing, since: createdAt } };
}

/** Ends the lease of a delivery, which is due again at `nextAttemptAt` (Unix ms). */
export function pendingAgain(
  {
    id,
    webhookId,
    leasedUntil,
    attempts,
  }: Pick<TakenDelivery, 'id' | 'webhookId' | 'leasedUntil' | 'attempts'>,
  nextAttemptAt: number,
): SettledDelivery {
  return { id, webhookId, leasedUntil, status: 'pending', attempts, nextAttemptAt, finishedAt: null };
}

const reasons = {
  gone: 'The receiver responded with 410.',
  failing: 'All attempts to send a delivery failed, and no other delivery succeeded in the meantime.',
};

function resultOf(outcome: Outcome | Impossible): Attempt {
  if ('error' in outcome) return {};
  const { status, retryAfterSeconds } = outcome;
  return { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

function attemptOf(outcome: Outcome | Impossible, at: number): DeliveryAttempt {
  const { milliseconds } = outcome;
  const made = { at: new Date(at).toISOString(), milliseconds };
  if (!('error' in outcome)) return { ...made, status: outcome.status, ...redirectError(outcome.status) };
  return { ...made, error: errorText(outcome) };
}

function redirectError(status: number): { error?: string } {
  return status >= 300 && status < 400 ? { error: 'Redirects are not followed.' } : {};
}

/** Formats an error. Messages about the URL have no subject, so "The URL" is added. */
export function errorText({ error, message }: Failure | Impossible): string {
  const isAboutUrl = error === 'url' || error === 'dns' || error === 'blocked';
  return (isAboutUrl ? `The URL ${message}.` : message).slice(0, maxErrorLength).toWellFormed();
}
