import { type ErrorCode, errors } from '../src/contract/errors.ts';
import { Refusal } from '../src/contract/refusal.ts';
import { credentialOf } from '../src/http/pipeline/head.ts';
import { refuse } from '../src/http/pipeline/replies.ts';
import type { Exchange } from '../src/http/server.ts';
import { minuteSeconds } from '../src/limits/limit.ts';

interface RefusalOptions {
  /** `Retry-After` in seconds. Defaults to the value from the service. */
  readonly retryAfter: number | undefined;
  readonly nowMs: number;
  /** Discards log entries for simulated failures, so that the log contains only real ones. */
  readonly quiet: Quiet;
}

export type Quiet = Pick<Exchange['context'], 'log' | 'outages'>;

/** Responds with an error code. The request is admitted and counted like a request with a real error. */
export async function refusedAs(
  exchange: Exchange,
  code: ErrorCode,
  { retryAfter, nowMs, quiet }: RefusalOptions,
): Promise<Response> {
  const { status } = errors[code];
  if (status === 401) return unauthenticated(exchange, code);
  if (code === 'too_many_failed_authentications') {
    return tooManyFailures(exchange, retryAfter ?? minuteSeconds, nowMs);
  }
  const { context, incoming } = exchange;
  const { request, routed } = incoming;
  const network = () => incoming.network();
  const isFree = routed?.operation.free ?? false;
  const admission = await context.admission.admit(credentialOf(request.headers), network, isFree);
  const limited = isFree ? undefined : admission.caller && admission.verdict.refusal;
  const before = admission.caller === undefined ? admission.refusal : limited;
  const response = await refuse({ ...context, ...quiet }, incoming, admission, refusalOf(before ?? code));
  if (before === undefined && retryAfter !== undefined)
    response.headers.set('Retry-After', String(retryAfter));
  return response;
}

async function unauthenticated({ context, incoming }: Exchange, code: ErrorCode): Promise<Response> {
  const credential = { kind: code === 'missing_api_key' ? 'none' : 'malformed' } as const;
  const admission = await context.admission.admit(credential, () => incoming.network());
  const refusal = admission.caller === undefined ? admission.refusal : code;
  return refuse(context, incoming, admission, new Refusal(refusal));
}

/**
 * Responds as if the address had too many failed authentication attempts. The address's real count is unchanged,
 * because other clients share the address.
 */
async function tooManyFailures(
  { context, incoming }: Exchange,
  secondsLeft: number,
  nowMs: number,
): Promise<Response> {
  const refusal = 'too_many_failed_authentications';
  const resetAt = Math.floor(nowMs / 1_000) + secondsLeft;
  const peeked = await context.admission.peek(incoming.network());
  const state = { ...peeked, remaining: 0, resetAt, secondsLeft };
  return refuse(context, incoming, { caller: undefined, refusal, state }, new Refusal(refusal));
}

function refusalOf(code: ErrorCode): Refusal {
  const { status } = errors[code];
  if (status !== 400 && status !== 415) return new Refusal(code);
  const mistake = { in: 'header' as const, name: 'X-Sandbox', message: `requests the error ${code}` };
  return new Refusal(code, { details: [mistake] });
}
