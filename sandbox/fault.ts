/** Sandbox faults, written as `name=value` pairs separated by semicolons, such as `status=503; rate=0.2`. */
import { clientErrors, type ErrorCode, errors } from '../src/contract/errors.ts';
import type { Operation } from '../src/contract/operation.ts';
import { type OperationId, operations, possibleErrors } from '../src/contract/operations.ts';
import { msPerUnit } from '../src/domain/clock.ts';
import { daySeconds, minuteSeconds } from '../src/limits/limit.ts';
import { changesBody, type ReplyName, replyNames } from './proxy-replies.ts';

export interface Fault {
  readonly text: string;
  readonly status?: number;
  readonly code?: ErrorCode;
  readonly retryAfter?: number;
  readonly delayMs?: number;
  readonly cut?: 'before' | 'after';
  readonly banSeconds?: number;
  readonly remaining?: number;
  readonly slowBodyMs?: number;
  readonly reply?: ReplyName;
  readonly stream?: StreamFault;
  readonly webhook?: WebhookFault;
  readonly webhookDelayMs?: number;
  readonly operation?: OperationId;
  readonly rate: number;
  readonly seed: number;
  readonly times?: number;
}

const webhookFaults = ['duplicate', 'out-of-order', 'wrong-signature', 'old-timestamp'] as const;
type WebhookFault = (typeof webhookFaults)[number];

const streamFaults = ['cut', 'stall'] as const;
type StreamFault = (typeof streamFaults)[number];

export class InvalidFaultError extends Error {}

/** Longer delays would make a test appear to hang. */
const maxDelayMs = 600_000;
/** Shorter than the idle timeout of connections. */
const maxPauseMs = 10_000;
/** Half the duration of a lease, because a delivery is sent again when its lease expires. */
export const maxHoldMs = 30_000;
const maxTimes = 1_000_000_000;

type Read = (value: string, name: string) => Partial<Fault>;

interface FaultName {
  readonly example: string;
  readonly about: string;
  readonly read: Read;
}

const codes = Object.keys(clientErrors) as (keyof typeof clientErrors)[];
const statuses = [...new Set(codes.map((code) => clientErrors[code].status))].sort();
const operationIds = Object.keys(operations) as OperationId[];

export const faultNames: Readonly<Record<string, FaultName>> = {
  status: {
    example: 'status=503',
    about: 'error status to return; 429 uses up the actual rate limit',
    read: (value, name) => ({ status: oneOf(statuses, value, name, 'an error status of the API:') }),
  },
  code: {
    example: 'code=daily_quota_exceeded',
    about: 'error code to return, with its status',
    read: (value, name) => ({ code: oneOf(codes, value, name, 'an error code of the API:') }),
  },
  'retry-after': {
    example: 'retry-after=3',
    about: 'seconds to wait, with 429 or 503',
    read: (value, name) => ({ retryAfter: whole(value, name, 1, daySeconds) }),
  },
  delay: {
    example: 'delay=1500ms',
    about: 'processes the request immediately and delays the response',
    read: (value, name) => ({ delayMs: duration(value, name, maxDelayMs) }),
  },
  cut: {
    example: 'cut=after',
    about: 'closes the connection before or after the request is processed',
    read: (value) => ({ cut: cutOf(value) }),
  },
  ban: {
    example: 'ban=60s',
    about: 'actually bans the key',
    read: (value, name) => ({ banSeconds: Math.ceil(duration(value, name, daySeconds * 1_000) / 1_000) }),
  },
  remaining: {
    example: 'remaining=2',
    about: 'sets the actual number of requests remaining in the current minute',
    read: (value, name) => ({ remaining: whole(value, name, 0, maxTimes) }),
  },
  'slow-body': {
    example: 'slow-body=100ms',
    about: 'sends the body in ten parts, with a pause before each',
    read: (value, name) => ({ slowBodyMs: duration(value, name, maxPauseMs) }),
  },
  reply: {
    example: 'reply=html-502',
    about: `replaces the response as a proxy would: ${replyNames.join(', ')}`,
    read: (value, name) => ({ reply: oneOf(replyNames, value, name) }),
  },
  stream: {
    example: 'stream=cut',
    about: 'cuts or stalls an event stream in the middle of its first event: cut, stall',
    read: (value, name) => ({ stream: oneOf(streamFaults, value, name) }),
  },
  webhook: {
    example: 'webhook=duplicate',
    about: `changes webhook deliveries: ${webhookFaults.join(', ')}`,
    read: (value, name) => ({ webhook: oneOf(webhookFaults, value, name) }),
  },
  'webhook-delay': {
    example: 'webhook-delay=2s',
    about: 'delays a delivery to a webhook, by at most 30s',
    read: (value, name) => ({ webhookDelayMs: duration(value, name, maxHoldMs) }),
  },
  operation: {
    example: 'operation=createPet',
    about: 'applies only to this operation',
    read: (value, name) => ({ operation: oneOf(operationIds, value, name) }),
  },
  rate: {
    example: 'rate=0.2',
    about: 'probability that a request gets the fault',
    read: (value) => ({ rate: rateOf(value) }),
  },
  seed: {
    example: 'seed=7',
    about: 'seed of the random sequence for rate (default 1)',
    read: (value, name) => ({ seed: whole(value, name, 0, 4_294_967_295) }),
  },
  times: {
    example: 'times=3',
    about: 'maximum number of occurrences',
    read: (value, name) => ({ times: whole(value, name, 1, maxTimes) }),
  },
};

export function parseFault(text: string): Fault {
  const found = new Map<string, Partial<Fault>>();
  for (const pair of text.split(';').map((part) => part.trim())) {
    if (pair === '') continue;
    const [, given = '', value = ''] = /^([\w-]+)\s*=\s*(.+)$/.exec(pair) ?? [];
    const name = given.toLowerCase();
    const known = Object.hasOwn(faultNames, name) ? faultNames[name] : undefined;
    if (known === undefined) throw new InvalidFaultError(unknown(pair));
    if (found.has(name)) throw new InvalidFaultError(`"${name}" is given more than once.`);
    found.set(name, known.read(value, name));
  }
  const fault: Fault = Object.assign({ text, rate: 1, seed: 1 }, ...found.values());
  const mistake = mistakeOf(fault, found);
  if (mistake !== undefined) throw new InvalidFaultError(mistake);
  const complete = fault.code === undefined ? fault : { ...fault, status: errors[fault.code].status };
  const impossible = fault.operation && impossibleReason(operations[fault.operation], complete);
  if (impossible !== undefined) throw new InvalidFaultError(impossible);
  return complete;
}

function unknown(pair: string): string {
  const examples = Object.values(faultNames).map(({ example }) => example);
  return `"${pair.slice(0, 80)}" is not a fault. Faults are ${examples.join(', ')}, separated by semicolons.`;
}

/** Effects on API requests. A fault has at least one effect. */
const effects = [
  'status',
  'code',
  'cut',
  'ban',
  'remaining',
  'reply',
  'stream',
  'delay',
  'slow-body',
] as const;
const webhookEffects = ['webhook', 'webhook-delay'] as const;
const outcomes = ['status', 'cut', 'ban', 'remaining', 'reply', 'stream'] as const;

/** Returns the reason why a combination is invalid, or undefined if it is valid. */
function mistakeOf(fault: Fault, found: ReadonlyMap<string, unknown>): string | undefined {
  const { status, code, retryAfter, cut, slowBodyMs } = fault;
  const has = (name: string) => found.has(name) || (name === 'status' && found.has('code'));
  const ofWebhooks = webhookEffects.filter(has);
  const [other] = [...ofWebhooks.slice(1), ...effects, 'operation'].filter(has);
  if (ofWebhooks.length > 0 && other !== undefined)
    return `"${ofWebhooks[0]}" and "${other}" are mutually exclusive. Use only one of them.`;
  if (ofWebhooks.length === 0 && !effects.some(has))
    return `The fault has no effect. Add one of ${[...effects, ...webhookEffects].join(', ')}.`;
  const usedOutcomes = outcomes.filter(has);
  if (usedOutcomes.length > 1)
    return `"${usedOutcomes.join('" and "')}" are mutually exclusive. Use only one of them.`;
  if (code !== undefined && status !== undefined && errors[code].status !== status)
    return `The code ${code} belongs to status ${errors[code].status}. Remove "status" or change it.`;
  const answered = code === undefined ? status : errors[code].status;
  if (retryAfter !== undefined && answered !== 429 && answered !== 503)
    return 'Only 429 and 503 have Retry-After. Add status=429 or status=503.';
  const isOfMinute = answered === 429 && code !== 'daily_quota_exceeded' && code !== 'api_key_banned';
  if (isOfMinute && (retryAfter ?? 1) > minuteSeconds)
    return `The per-minute limit resets within ${minuteSeconds} s. Add code=daily_quota_exceeded, or use a shorter retry-after.`;
  if (cut !== undefined && slowBodyMs !== undefined)
    return '"slow-body" needs a response, but "cut" closes the connection without one. Use only one of them.';
  if (found.has('seed') && !found.has('rate')) return '"seed" requires a rate. Add one, such as rate=0.2.';
  return undefined;
}

function oneOf<T extends string | number>(
  values: readonly T[],
  value: string,
  name: string,
  what = 'one of',
): T {
  const found = values.find((one) => String(one) === value);
  if (found === undefined) throw new InvalidFaultError(`"${name}" must be ${what} ${values.join(', ')}.`);
  return found;
}

function cutOf(value: string): 'before' | 'after' {
  if (value === 'before' || value === 'after') return value;
  throw new InvalidFaultError(
    '"cut" must be before or after: whether the connection is closed before or after the request is processed.',
  );
}

function rateOf(value: string): number {
  const rate = Number(value);
  if (/^\d*\.?\d+$/.test(value) && rate > 0 && rate <= 1) return rate;
  throw new InvalidFaultError(
    '"rate" must be above 0 and at most 1, such as 0.2 for a fifth of the requests.',
  );
}

function whole(value: string, name: string, min: number, max: number): number {
  const number = Number(value);
  if (/^\d{1,10}$/.test(value) && number >= min && number <= max) return number;
  throw new InvalidFaultError(`"${name}" must be a whole number from ${min} to ${max}.`);
}

function duration(value: string, name: string, maxMs: number): number {
  const [, number = '', unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(value) ?? [];
  const ms = Number(number) * (msPerUnit[unit] ?? 0);
  if (ms >= 1 && ms <= maxMs) return ms;
  throw new InvalidFaultError(
    `"${name}" must be a duration of at most ${maxMs / 1_000}s, such as 100ms, 2s or 1m.`,
  );
}

/** Whether the fault affects webhook deliveries instead of API requests. */
export function isWebhookFault({ webhook, webhookDelayMs }: Fault): boolean {
  return (webhook ?? webhookDelayMs) !== undefined;
}

export type Code = keyof typeof errors;

/** Default codes for statuses with several codes: the codes that clients receive most often. */
const usualCodes: ReadonlySet<Code> = new Set(['invalid_api_key', 'invalid_body', 'rate_limit_exceeded']);

/**
 * Returns the error code of a fault. Undefined if the fault has no error, or if the operation never returns that error.
 */
export function faultCode(operation: Operation, { code, status }: Fault): Code | undefined {
  const possible = possibleErrors(operation).filter((one) =>
    code === undefined ? errors[one].status === status : one === code,
  );
  return possible.find((one) => usualCodes.has(one)) ?? possible[0];
}

/** Returns the reason why an operation can never trigger a fault, or undefined if it can. */
export function impossibleReason(operation: Operation, fault: Fault): string | undefined {
  const { operationId, success } = operation;
  if (fault.status !== undefined && faultCode(operation, fault) === undefined) {
    const possible = possibleErrors(operation).map((one) => `${errors[one].status} ${one}`);
    return `${operationId} never responds with ${fault.code ?? fault.status}. Its errors are ${possible.join(', ')}.`;
  }
  const needsBody = fault.slowBodyMs !== undefined || (fault.reply !== undefined && changesBody(fault.reply));
  if (fault.stream !== undefined && !success.stream) return `The response to ${operationId} is not a stream.`;
  if (needsBody && success.schema === undefined)
    return `A successful ${operationId} response has no body, so there is nothing to change.`;
  return undefined;
}
