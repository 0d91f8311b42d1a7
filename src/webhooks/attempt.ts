/** A delivery attempt, and the effect of its outcome. */

import type { WebhookTest } from '../contract/deliveries.ts';
import type { DeliveryAttempt } from '../contract/representations.ts';
import { type Clock, dayMs, hourMs, minuteMs } from '../domain/clock.ts';
import {
  type AttemptOutcome,
  type DisableOutcome,
  type LeasedDelivery,
  maxTests,
  type SettledDelivery,
} from '../domain/delivery.ts';
import type { RandomBytes } from '../domain/key.ts';
import type { Receivers } from './receivers.ts';
import { UndecryptableSecretError } from './secrets.ts';
import type { Delivery, Failure, Outcome } from './send.ts';
import { signHeaders } from './signature.ts';

const maxErrorLength = 200;

/** The encrypted secrets of a webhook. */
type SealedSecrets = Pick<LeasedDelivery, 'secret' | 'formerSecret' | 'formerSecretUntil'>;

export interface Message extends SealedSecrets {
  readonly webhookId: bigint;
  readonly accountId: number;
  readonly url: string;
  /** Id of the event, without the prefix that the `webhook-id` header adds. */
  readonly eventId: bigint | string;
  readonly body: string;
}

/** Sends a message with `nowMs` as its timestamp (Unix ms). Never rejects. */
export type Send = (message: Message, nowMs: number, signal?: AbortSignal) => Promise<Outcome | NotSent>;

export function createSender(
  receivers: Pick<Receivers, 'send'>,
  openSecret: (sealed: string) => string,
): Send {
  return async (message, nowMs, signal) => {
    try {
      return await receivers.send({ ...toRequest(message, nowMs, openSecret), ...(signal && { signal }) });
    } catch (error) {
      if (!(error instanceof UndecryptableSecretError)) throw error;
      return { error: 'secret', message: unreadableSecretMessage, milliseconds: 0 };
    }
  };
}

const unreadableSecretMessage =
  'The service cannot decrypt the secret of this webhook. The account can rotate it, or the operator can restore SECRETS_KEY.';

/** Throws `UndecryptableSecretError`. A previous secret that cannot be decrypted is omitted. */
function toRequest(
  { accountId, url, eventId, body, secret, formerSecret, formerSecretUntil }: Message,
  nowMs: number,
  openSecret: (sealed: string) => string,
): Delivery {
  const isSignedTwice = formerSecret !== null && nowMs < (formerSecretUntil ?? 0);
  const former = isSignedTwice ? tryDecrypt(formerSecret, openSecret) : [];
  return {
    accountId,
    url,
    body,
    headers: signHeaders({ eventId, body, nowMs }, [openSecret(secret), ...former]),
  };
}

function tryDecrypt(sealed: string, openSecret: (sealed: string) => string): string[] {
  try {
    return [openSecret(sealed)];
  } catch (error) {
    if (!(error instanceof UndecryptableSecretError)) throw error;
    return [];
  }
}

/**
 * The reason why no request was sent: the event has expired, the webhook no longer selects its type, or the secret cannot
 * be decrypted.
 */
export interface NotSent {
  readonly error: 'expired' | 'unselected' | 'secret';
  readonly message: string;
  readonly milliseconds: number;
}

interface AttemptTimes {
  /** Start of the attempt, in Unix ms. */
  readonly at: number;
  readonly now: number;
  /** Time of the next attempt if the secret cannot be decrypted, in Unix ms. */
  readonly secretRetryAt: number;
  /** A random number in [0, 1). */
  readonly random: number;
}

interface AttemptResult {
  readonly settled: SettledDelivery;
  /** Undefined if no attempt was made. */
  readonly counted?: AttemptOutcome;
  /** The outcome disables the webhook, unless a delivery has since succeeded or the webhook has since been enabled. */
  readonly disabling?: DisablingOutcome;
}

export interface DisablingOutcome {
  readonly reason: string;
  /** Unix ms. */
  readonly since: number;
  /** The result if the outcome does not disable the webhook. */
  readonly otherwise: Readonly<Record<Exclude<DisableOutcome, 'disabled'>, SettledDelivery>>;
}

/**
 * Returns the result of an attempt. After an aborted attempt, the delivery is due again immediately. If the secret
 * cannot be decrypted, the delivery is due at `secretRetryAt`.
 */
export function evaluateAttempt(
  delivery: LeasedDelivery,
  outcome: Outcome | NotSent,
  instants: AttemptTimes,
): AttemptResult {
  const { now, secretRetryAt, random } = instants;
  const { id, webhookId, leasedUntil, createdAt } = delivery;
  const lease = { id, webhookId, leasedUntil };
  if ('error' in outcome && outcome.error === 'aborted') return { settled: reschedule(delivery, now) };
  if ('error' in outcome && outcome.error === 'secret')
    return { settled: reschedule(delivery, secretRetryAt) };
  const all = [
    ...(JSON.parse(delivery.attempts) as DeliveryAttempt[]),
    toDeliveryAttempt(outcome, instants.at),
  ];
  // Attempts whose outcomes no longer count, because the URL has changed, may follow the last one.
  const made = all.slice(-attemptDelaysMs.length);
  const attempts = JSON.stringify(made);
  const finished = { ...lease, attempts, nextAttemptAt: null, finishedAt: now };
  const result = toAttempt(outcome, now);
  if (isSuccess(result)) return { settled: { ...finished, status: 'succeeded' }, counted: 'succeeded' };
  const settled = { ...finished, status: 'failed' } as const;
  if ('error' in outcome && outcome.error === 'expired') return { settled, counted: 'expired' };
  if ('error' in outcome && outcome.error === 'unselected') return { settled };
  // If the URL has changed or the receiver was repaired in the meantime, the outcome says nothing about the next
  // attempt.
  const again = reschedule({ ...delivery, attempts }, now);
  if (isGone(result)) {
    const otherwise = { kept: again, moved: again };
    return {
      ...{ settled, counted: 'failed' },
      disabling: { reason: reasons.gone, since: instants.at + 1, otherwise },
    };
  }
  const delayMs = delayAfter(made.length, now - createdAt, result, random);
  if (delayMs !== undefined) {
    const repeated = reschedule({ ...delivery, attempts }, now + delayMs);
    return { settled: repeated, counted: 'repeated' };
  }
  const otherwise = { kept: settled, moved: again };
  return {
    ...{ settled, counted: 'failed' },
    disabling: { reason: reasons.failing, since: createdAt, otherwise },
  };
}

/** Ends the lease of a delivery, which is due again at `nextAttemptAt` (Unix ms). */
export function reschedule(
  {
    id,
    webhookId,
    leasedUntil,
    attempts,
  }: Pick<LeasedDelivery, 'id' | 'webhookId' | 'leasedUntil' | 'attempts'>,
  nextAttemptAt: number,
): SettledDelivery {
  return { id, webhookId, leasedUntil, status: 'pending', attempts, nextAttemptAt, finishedAt: null };
}

const reasons = {
  gone: 'The receiver responded with 410.',
  failing: 'All attempts to send a delivery failed, and no other delivery succeeded in the meantime.',
};

function toAttempt(outcome: Outcome | NotSent, now: number): Attempt {
  if ('error' in outcome) return {};
  const { status, retryAfter = '' } = outcome;
  const retryAfterSeconds = parseRetryAfter(retryAfter, now);
  return { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

function toDeliveryAttempt(outcome: Outcome | NotSent, at: number): DeliveryAttempt {
  const { milliseconds } = outcome;
  const made = { at: new Date(at).toISOString(), milliseconds };
  if (!('error' in outcome)) return { ...made, status: outcome.status, ...redirectError(outcome.status) };
  return { ...made, error: formatError(outcome) };
}

function redirectError(status: number): { error?: string } {
  return status >= 300 && status < 400 ? { error: 'Redirects are not followed.' } : {};
}

/** Formats an error. Messages about the URL have no subject, so "The URL" is added. */
function formatError({ error, message }: Failure | NotSent): string {
  const isAboutUrl = error === 'url' || error === 'dns' || error === 'blocked';
  return (isAboutUrl ? `The URL ${message}.` : message).slice(0, maxErrorLength).toWellFormed();
}

/** The webhook to test, with encrypted secrets. */
interface TestedWebhook {
  readonly id: bigint;
  readonly accountId: number;
  readonly url: string;
  readonly secret: string;
  readonly formerSecret?: string | undefined;
  readonly formerSecretUntil?: number | undefined;
}

interface TestDependencies {
  readonly send: Send;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/**
 * Returns a function that sends a test event. Tests continue if the client disconnects, and a receiver may take 15 s.
 * Therefore, the number of tests in flight is limited (`maxTests`). Others fail without a request.
 */
export function createTestSender(
  dependencies: TestDependencies,
): (webhook: TestedWebhook) => Promise<WebhookTest> {
  const accounts: number[] = [];
  return async (webhook) => {
    const { accountId } = webhook;
    const own = accounts.filter((other) => other === accountId).length;
    if (own >= maxTests.perAccount || accounts.length >= maxTests.perProcess)
      return { milliseconds: 0, error: tooManyTestsMessage };
    accounts.push(accountId);
    try {
      return await sendTest(webhook, dependencies);
    } finally {
      accounts.splice(accounts.indexOf(accountId), 1);
    }
  };
}

const tooManyTestsMessage = 'Too many other tests are in progress. Try again when they have ended.';

async function sendTest(
  { id, accountId, url, secret, formerSecret, formerSecretUntil }: TestedWebhook,
  { send, clock, randomBytes }: TestDependencies,
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
    return { milliseconds, error: formatError(outcome), isBlocked: outcome.error === 'blocked' };
  }
  return { status: outcome.status, milliseconds, body: outcome.body };
}

/** Delay before each attempt. The first attempt is immediate. */
export const attemptDelaysMs: readonly number[] = [
  ...[0, 5_000, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];
/** Jitter as a fraction of the delay, so that retries of many deliveries are spread out. */
const jitter = 0.1;
const longestDelayMs = Math.max(...attemptDelaysMs);
/** The longest delay with jitter, which no `Retry-After` exceeds. */
export const maxDelayMs = Math.ceil(longestDelayMs * (1 + jitter));
/** The shortest time in which all scheduled attempts are made. */
const minRetryPeriodMs = attemptDelaysMs.reduce((sum, delayMs) => sum + delayMs, 0) * (1 - jitter);
/** Result of an attempt. The fields are undefined if there was no response. */
interface Attempt {
  readonly status?: number;
  readonly retryAfterSeconds?: number;
}

export function isSuccess({ status = 0 }: Attempt): boolean {
  return status >= 200 && status < 300;
}

/** Whether the receiver no longer accepts deliveries (410 Gone), which disables the webhook. */
export function isGone({ status }: Attempt): boolean {
  return status === 410;
}

/**
 * Milliseconds from the end of a failed attempt to the next attempt; undefined after the last attempt. `attempts`
 * includes the failed attempt, and `ageMs` is the age of the delivery. If redeliveries have made all attempts before
 * their scheduled times, the longest delay is repeated. `random` is in [0, 1).
 */
export function delayAfter(
  attempts: number,
  ageMs: number,
  last: Attempt,
  random: number,
): number | undefined {
  // The age is negative if the clock was set back.
  const isEarly = ageMs >= 0 && ageMs < minRetryPeriodMs;
  const delayMs = attemptDelaysMs[attempts] ?? (isEarly ? longestDelayMs : undefined);
  if (delayMs === undefined) return undefined;
  const isObeyed = last.status === 429 || last.status === 503;
  const demandedMs = isObeyed ? (last.retryAfterSeconds ?? 0) * 1_000 : 0;
  return Math.max(Math.round(delayMs * (1 - jitter + 2 * jitter * random)), demandedMs);
}

const maxRetryAfterSeconds = dayMs / 1_000;

/**
 * The seconds until the time in a Retry-After header (RFC 9110 section 10.2.3), at most a day; undefined if malformed.
 */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - nowMs) / 1_000);
  return seconds >= 0 ? Math.min(seconds, maxRetryAfterSeconds) : undefined;
}

/** Parses a date in any of the formats of RFC 9110 section 5.6.7, which begin with the day of the week. NaN if malformed. */
function parseHttpDate(text: string): number {
  return /^[a-z]{3,9},? /i.test(text) ? Date.parse(text) : Number.NaN;
}
