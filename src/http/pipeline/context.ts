import type { Logger } from 'pino';
import type { ErrorCode } from '../../contract/errors.ts';
import type { StreamSource } from '../../contract/operation.ts';
import type { ChangedIds } from '../../domain/changed-ids.ts';
import type { Clock } from '../../domain/clock.ts';
import type {
  AdmissionOperations,
  Authenticated,
  Unauthenticated,
} from '../../operations/admission/admission.ts';
import type { ClientOperations } from '../../operations/client-operations.ts';
import type { FailedRequests } from '../../operations/observability/failed-requests.ts';
import type { TrafficCounter } from '../../operations/observability/traffic-counter.ts';
import type { OutageLog } from '../logs/outage-log.ts';
import type { PageCache } from './page-cache.ts';
import type { Route, RoutedOperation } from './routes.ts';

export interface RequestContext {
  readonly admission: AdmissionOperations;
  readonly operations: ClientOperations;
  readonly pageCache: PageCache;
  readonly changedIds: ChangedIds | undefined;
  readonly clock: Clock;
  /** Public URL for clients, without the version; undefined if none is configured. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: ReadonlySet<string>;
  readonly log: Logger;
  readonly outages: OutageLog;
  readonly traffic: TrafficCounter;
  readonly failedRequests: FailedRequests;
  /** Undefined if requests are not logged. */
  readonly requestLog: RequestLog | undefined;
  readonly newRequestId: () => string;
  readonly isDraining: () => boolean;
}

/** A request and the result of routing. Requests outside /v1 have no route. */
export interface IncomingRequest {
  readonly request: Request;
  readonly route: Route | undefined;
  readonly routed: RoutedOperation | undefined;
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  client(): string;
  /**
   * Records a response that does not count against a limit (401, 429, or an operation marked as `free`). Returns
   * whether to close the connection after the response.
   */
  countUnmetered(): boolean;
  /**
   * Marks the request as authenticated. When there are too many connections, connections with authenticated requests
   * are closed last.
   */
  keep(): void;
  /** The body of a streamed response. The connection stays open until the stream ends. */
  streamed(source: StreamSource): ReadableStream;
  /** The client's network. Failed authentication attempts are counted per network. */
  network(): string;
  /** Arrival time on the process's monotonic clock, in ms. */
  readonly startedAt: number;
}

interface Outcome {
  readonly status: number;
  readonly code?: ErrorCode | undefined;
  /** Undefined for requests without a limit: preflights, and pages outside /v1. */
  readonly admission?: Authenticated | Unauthenticated | undefined;
  /** Response body; undefined if its size is unknown, as for streams and for pages outside /v1. */
  readonly body?: string | Blob | null | undefined;
  /** Path of a page outside /v1. Other requests have a route. */
  readonly page?: string | undefined;
}

export type RequestLog = (incoming: IncomingRequest, outcome: Outcome) => void;
