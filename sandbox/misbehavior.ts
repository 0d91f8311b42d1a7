/** Applies faults to requests under `/v1` and records the requests. */

import { ApiError } from '../src/contract/api-error.ts';
import type { Operation } from '../src/contract/operation.ts';
import type { Caller } from '../src/domain/caller.ts';
import { computeFingerprint } from '../src/domain/key.ts';
import { requestTarget } from '../src/http/pipeline/query.ts';
import { replyWithError } from '../src/http/pipeline/reply.ts';
import { readCredential } from '../src/http/pipeline/request-head.ts';
import type { Exchange } from '../src/http/server.ts';
import type { KeyStore } from '../src/storage/storage.ts';
import type { SandboxClock } from './clock.ts';
import { cutResponse, delayResponse, sendSlowly, streamHalf } from './connection.ts';
import {
  type Code,
  type Fault,
  faultCode,
  InvalidFaultError,
  impossibleReason,
  isWebhookFault,
} from './fault.ts';
import type { Faults, RequestedFault } from './faults.ts';
import type { SandboxLimits } from './limits.ts';
import { createProxyReply, reachesService } from './proxy-replies.ts';
import type { RequestEntry, Requests } from './requests.ts';
import { type QuietLogging, replyWithSimulatedError } from './simulated-errors.ts';

const faultHeader = 'X-Sandbox';

interface MisbehaviorOptions {
  readonly keys: KeyStore;
  readonly clock: SandboxClock;
  readonly limits: SandboxLimits;
  readonly faults: Faults;
  readonly requests: Requests;
  readonly quiet: QuietLogging;
  /** Aborted when the sandbox ends, to stop delaying responses. */
  readonly stopSignal: AbortSignal;
}

interface FaultedRequest {
  readonly exchange: Exchange;
  readonly caller: Caller | undefined;
  readonly operation: Operation | undefined;
  readonly entry: RequestEntry;
}

export class Misbehavior {
  readonly #options: MisbehaviorOptions;

  constructor(options: MisbehaviorOptions) {
    this.#options = options;
  }

  /** Responds to a request, and applies the fault from its header or from `POST /sandbox/faults`. */
  async answer(exchange: Exchange): Promise<Response> {
    const { incoming, context } = exchange;
    const { request, requestId, routed } = incoming;
    const caller = await this.#callerOf(request);
    const operation = routed?.operation;
    const entry = this.#options.requests.add({
      at: new Date(this.#options.clock.now()).toISOString(),
      method: request.method,
      path: requestTarget(request.url),
      operation: operation?.operationId ?? null,
      account: caller?.accountId ?? null,
      plan: caller?.plan ?? null,
      requestId,
    });
    try {
      const faultedRequest = { exchange, caller, operation, entry };
      const fault = this.#faultOf(faultedRequest);
      return await this.#misbehave(faultedRequest, fault);
    } catch (error) {
      if (!(error instanceof InvalidFaultError)) throw error;
      const details = [{ in: 'header' as const, name: faultHeader, message: error.message }];
      const message = `The ${faultHeader} header is invalid: ${error.message}`;
      const apiError = new ApiError('invalid_parameter', { details, message });
      return noted(entry, await replyWithError(context, incoming, undefined, apiError));
    }
  }

  async #callerOf({ headers }: Request): Promise<Caller | undefined> {
    const credential = readCredential(headers);
    return credential.kind === 'key'
      ? this.#options.keys.findCaller(computeFingerprint(credential.key))
      : undefined;
  }

  /** Returns the fault that the request triggers. A fault in the header takes precedence. Throws `InvalidFaultError`. */
  #faultOf({ exchange: { incoming }, caller, operation, entry }: FaultedRequest): Fault | undefined {
    const { faults } = this.#options;
    const text = incoming.request.headers.get(faultHeader);
    const own = (text === null ? [] : [faults.inHeader(caller?.accountId, text)]).filter(({ fault }) =>
      isOf(fault, operation),
    );
    for (const { fault } of own) {
      const impossible = operation && impossibleReason(operation, fault);
      if (impossible !== undefined) throw new InvalidFaultError(impossible);
    }
    const others = faults
      .of(caller?.accountId)
      .filter((requestedFault) => isFor(requestedFault, operation, caller));
    const found = [...own, ...others].find((requestedFault) => requestedFault.happens());
    if (found === undefined) return undefined;
    entry.fault = found.fault.text;
    if (changesLimits(found.fault) && caller !== undefined) found.done.add(caller.accountId);
    return found.fault;
  }

  async #misbehave(faultedRequest: FaultedRequest, fault: Fault | undefined): Promise<Response> {
    const { exchange, entry } = faultedRequest;
    const { stopSignal } = this.#options;
    if (fault === undefined) return noted(entry, await exchange.respond());
    const signals = [exchange.incoming.request.signal, stopSignal];
    const isStaying = async () => fault.delayMs === undefined || delayResponse(fault.delayMs, signals);
    if (fault.cut === 'before') {
      await isStaying();
      return cutResponse(exchange);
    }
    const response = await this.#replyTo(faultedRequest, fault);
    if (!(await isStaying()) || fault.cut === 'after') {
      // If the response is a stream, canceling the body ends the stream.
      await response.body?.cancel();
      return cutResponse(exchange);
    }
    noted(entry, response);
    if (fault.stream !== undefined) return streamHalf(response, fault.stream, exchange, signals);
    const isEmpty = exchange.incoming.request.method === 'HEAD' || fault.slowBodyMs === undefined;
    return isEmpty ? response : sendSlowly(response, fault.slowBodyMs ?? 0, signals);
  }

  async #replyTo(faultedRequest: FaultedRequest, fault: Fault): Promise<Response> {
    if (fault.reply === undefined) return this.#answerTo(faultedRequest, fault);
    const response = reachesService(fault.reply) ? await faultedRequest.exchange.respond() : undefined;
    return createProxyReply(fault.reply, response);
  }

  async #answerTo({ exchange, caller, operation }: FaultedRequest, fault: Fault): Promise<Response> {
    const { limits, clock, quiet } = this.#options;
    const { banSeconds, remaining, retryAfter } = fault;
    const code = operation === undefined ? undefined : faultCode(operation, fault);
    if (caller !== undefined) {
      if (remaining !== undefined) limits.setRemaining(caller, remaining);
      if (banSeconds !== undefined) limits.ban(caller, banSeconds);
      if (code === 'api_key_banned') limits.ban(caller, retryAfter);
      if (code === 'rate_limit_exceeded') limits.useUp(caller, 'minute', retryAfter);
      if (code === 'daily_quota_exceeded') limits.useUp(caller, 'day', retryAfter);
    }
    // The service itself refuses the request, because it enforces the account's limits.
    if (code === undefined || isLimit(code)) return exchange.respond();
    return replyWithSimulatedError(exchange, code, { retryAfter, nowMs: clock.now(), quiet });
  }
}

function isOf(fault: Fault, operation: Operation | undefined): boolean {
  return fault.operation === undefined || fault.operation === operation?.operationId;
}

/** Whether a request can trigger a fault from `POST /sandbox/faults`. */
function isFor(
  { fault, done }: RequestedFault,
  operation: Operation | undefined,
  caller: Caller | undefined,
): boolean {
  if (operation === undefined || isWebhookFault(fault) || !isOf(fault, operation)) return false;
  if (impossibleReason(operation, fault) !== undefined) return false;
  if (!changesLimits(fault)) return true;
  // The fault sets an account's limits only once, so that later requests can exhaust them.
  return caller !== undefined && !done.has(caller.accountId);
}

function changesLimits({ remaining, banSeconds }: Fault): boolean {
  return (remaining ?? banSeconds) !== undefined;
}

function isLimit(code: Code): boolean {
  return code === 'rate_limit_exceeded' || code === 'daily_quota_exceeded' || code === 'api_key_banned';
}

function noted(entry: RequestEntry, response: Response): Response {
  entry.status = response.status;
  // Reads the error code from the link to its documentation page.
  const code = /\/docs\/errors\/(\w+)>; rel="help"/.exec(response.headers.get('link') ?? '')?.[1];
  entry.code = code === undefined ? null : (code as Code);
  return response;
}
