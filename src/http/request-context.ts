import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import type { AdmissionOperations } from '../operations/admission.ts';
import type { ClientOperations } from '../operations/client-operations.ts';
import type { TrafficCounter } from '../operations/traffic-counter.ts';
import type { BanLog } from './ban-log.ts';
import type { Outages } from './outages.ts';
import type { PageCache } from './page-cache.ts';
import type { RequestLog } from './request-log.ts';
import type { Route, RoutedOperation } from './routes.ts';

/** What the pipeline works with. */
export interface RequestContext {
  readonly admission: AdmissionOperations;
  readonly operations: ClientOperations;
  readonly pageCache: PageCache;
  readonly clock: Clock;
  /** Address clients use, without the version; undefined when there is none. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: ReadonlySet<string>;
  readonly log: Logger;
  readonly outages: Outages;
  /** Counts what is answered under the version. */
  readonly traffic: TrafficCounter;
  /** Undefined while requests are not logged. */
  readonly requestLog: RequestLog | undefined;
  readonly bans: BanLog;
  readonly makeRequestId: () => string;
  readonly isDraining: () => boolean;
}

/** A request, with what the router found out about it; outside the version that is no route. */
export interface IncomingRequest {
  readonly request: Request;
  readonly route: Route | undefined;
  /** What the request's method does there. */
  readonly routed: RoutedOperation | undefined;
  /** The parameters of the path, as they came. */
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** The address of the client. */
  readonly client: () => string;
  /** Counts a free response (401, 429, or of a free operation), and returns whether it has to close the connection. */
  readonly countFree: () => boolean;
  /** Says that the caller is authenticated, and that the connection is therefore one of the last to be closed. */
  readonly keep: () => void;
  /** The network of the client, for failed authentications. */
  readonly network: () => string;
  /** When it came, in ms of the process's own clock. */
  readonly startedAt: number;
}
