import { ApiError } from '../src/contract/api-error.ts';
import { type ErrorCode, errors } from '../src/contract/errors.ts';
import { replyWithError } from '../src/http/pipeline/reply.ts';
import { readCredential } from '../src/http/pipeline/request-head.ts';
import type { Exchange } from '../src/http/server.ts';
import { minuteSeconds } from '../src/limits/limit.ts';

interface SimulatedErrorOptions {
  /** `Retry-After` in seconds. Defaults to the value from the service. */
  readonly retryAfter: number | undefined;
  readonly nowMs: number;
  /** Discards log entries for simulated failures, so that the log contains only real ones. */
  readonly quiet: QuietLogging;
}

export type QuietLogging = Pick<Exchange['context'], 'log' | 'outages'>;

/** Responds with an error code. The request is admitted and counted like a request with a real error. */
export async function replyWithSimulatedError(
  exchange: Exchange,
  code: ErrorCode,
  { retryAfter, nowMs, quiet }: SimulatedErrorOptions,
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
  const admission = await context.admission.admit(readCredential(request.headers), network, isFree);
  const limited = isFree ? undefined : admission.caller && admission.verdict.errorCode;
  const before = admission.caller === undefined ? admission.errorCode : limited;
  const response = await replyWithError(
    { ...context, ...quiet },
    incoming,
    admission,
    simulatedError(before ?? code),
  );
  if (before === undefined && retryAfter !== undefined)
    response.headers.set('Retry-After', String(retryAfter));
  return response;
}

async function unauthenticated({ context, incoming }: Exchange, code: ErrorCode): Promise<Response> {
  const credential = { kind: code === 'missing_api_key' ? 'none' : 'malformed' } as const;
  const admission = await context.admission.admit(credential, () => incoming.network());
  const errorCode = admission.caller === undefined ? admission.errorCode : code;
  return replyWithError(context, incoming, admission, new ApiError(errorCode));
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
  const errorCode = 'too_many_failed_authentications';
  const resetAt = Math.floor(nowMs / 1_000) + secondsLeft;
  const peeked = await context.admission.peek(incoming.network());
  const state = { ...peeked, remaining: 0, resetAt, secondsLeft };
  return replyWithError(context, incoming, { caller: undefined, errorCode, state }, new ApiError(errorCode));
}

function simulatedError(code: ErrorCode): ApiError {
  const { status } = errors[code];
  if (status !== 400 && status !== 415) return new ApiError(code);
  const mistake = { in: 'header' as const, name: 'X-Sandbox', message: `requests the error ${code}` };
  return new ApiError(code, { details: [mistake] });
}
