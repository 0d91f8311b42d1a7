import type { Logger } from 'pino';
import type { ErrorCode } from '../contract/errors.ts';
import type { Authenticated, Unauthenticated } from '../operations/admission.ts';
import type { IncomingRequest } from './request-context.ts';
import { traceIdOf } from './trace.ts';

/** Which requests get a line in the log: all, those answered 4xx or 5xx, those that take long, or none. */
export type LoggedRequests = 'all' | 'errors' | 'slow' | 'off';

/** What became of a request. */
export interface Outcome {
  readonly status: number;
  /** Of an error. */
  readonly code?: ErrorCode | undefined;
  /** Undefined for what is checked by no limit: preflights, and pages outside the version. */
  readonly admission?: Authenticated | Unauthenticated | undefined;
  /** What is sent; undefined for pages outside the version, of which it is not known here. */
  readonly body?: string | Blob | null;
  /** The path of a page outside the version; the route of any other request is known. */
  readonly page?: string | undefined;
}

export type RequestLog = (incoming: IncomingRequest, outcome: Outcome) => void;

/**
 * Writes a line at `info` for each request that is wanted, when its answer is ready; undefined when none is. `slowMs` is
 * from when on `slow` takes a request for one. The line has the route and never the target, where clients put keys.
 */
export function requestLogOf(log: Logger, which: LoggedRequests, slowMs: number): RequestLog | undefined {
  if (which === 'off' || !log.isLevelEnabled('info')) return undefined;
  const slowMicroseconds = slowMs * 1_000;
  const isWanted = (status: number, microseconds: number) =>
    which === 'all' || (which === 'errors' ? status >= 400 : microseconds >= slowMicroseconds);
  return (incoming, { status, code, admission, body, page }) => {
    const microseconds = Math.round((performance.now() - incoming.startedAt) * 1_000);
    if (!isWanted(status, microseconds)) return;
    const { requestId, request, route, routed, client } = incoming;
    log.info(
      {
        requestId,
        traceId: traceIdOf(request.headers.get('traceparent')),
        account: admission?.caller?.accountId,
        key: admission?.caller?.keyId,
        operation: routed?.operation.operationId,
        method: request.method,
        route: page ?? route?.path,
        status,
        code,
        microseconds,
        bytes: bytesOf(body),
        address: client(),
      },
      'request',
    );
  };
}

function bytesOf(body: string | Blob | null | undefined): number | undefined {
  if (body === undefined) return undefined;
  if (body === null) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.size;
}
