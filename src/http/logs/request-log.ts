import type { Logger } from 'pino';
import type { Logging } from '../../contract/admin/system.ts';
import type { LoggingPatch } from '../../operations/observability/worker-queries.ts';
import type { RequestLog } from '../pipeline/context.ts';
import { parseTraceId } from '../pipeline/request-head.ts';

/**
 * Returns a function that logs selected requests at `info` when the response is ready; undefined if no requests are
 * logged. `slowMs` is the minimum duration of a request logged by `slow`. A line contains the route instead of the URL,
 * because clients sometimes put keys in the URL.
 */
export function createRequestLog(
  log: Logger,
  which: Logging['requests'],
  slowMs: number,
): RequestLog | undefined {
  if (which === 'off' || !log.isLevelEnabled('info')) return undefined;
  const slowMicroseconds = slowMs * 1_000;
  const isWanted = (status: number, microseconds: number) =>
    which === 'all' || (which === 'errors' ? status >= 400 : microseconds >= slowMicroseconds);
  return (incoming, { status, code, admission, body, page }) => {
    const microseconds = Math.round((performance.now() - incoming.startedAt) * 1_000);
    if (!isWanted(status, microseconds)) return;
    const { requestId, request, route, routed } = incoming;
    log.info(
      {
        requestId,
        traceId: parseTraceId(request.headers.get('traceparent')),
        account: admission?.caller?.accountId,
        key: admission?.caller?.keyId,
        operation: routed?.operation.operationId,
        method: request.method,
        route: page ?? route?.path,
        status,
        code,
        microseconds,
        bytes: byteLength(body),
        address: incoming.client(),
      },
      'request',
    );
  };
}

function byteLength(body: string | Blob | null | undefined): number | undefined {
  if (body === undefined) return undefined;
  if (body === null) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.size;
}

/** A process's log settings, which can be changed at runtime. */
export class ProcessLogging {
  readonly #log: Logger;
  readonly #slowMs: number;
  #current: Logging;
  /** Undefined while no requests are logged. */
  requestLog: RequestLog | undefined;

  constructor(log: Logger, requests: Logging['requests'], slowMs: number) {
    this.#log = log;
    this.#slowMs = slowMs;
    // The type assertion is safe: the logger's initial level is a valid setting.
    this.#current = { level: log.level as Logging['level'], requests };
    this.requestLog = createRequestLog(log, requests, slowMs);
  }

  get current(): Logging {
    return this.#current;
  }

  update({ level = this.#current.level, requests = this.#current.requests }: LoggingPatch): Logging {
    this.#current = { level, requests };
    this.#log.level = level;
    this.requestLog = createRequestLog(this.#log, requests, this.#slowMs);
    return this.#current;
  }
}
