import type { Logger } from 'pino';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { AdminOperations } from '../../operations/admin/admin-operations.ts';
import type { FailedSignIns } from '../../operations/failed-sign-ins.ts';
import type { RecentTokens } from '../../operations/recent-tokens.ts';
import type { SessionOperations } from '../../operations/sessions.ts';
import type { FreeBudget } from '../free-budget.ts';
import type { Outages } from '../outages.ts';
import type { Route } from '../routes.ts';
import type { Site } from './site.ts';

export type AdminOperation = Operation & { readonly operationId: AdminOperationId };

/** What the admin pipeline works with. */
export interface AdminContext {
  readonly site: Site;
  readonly sessions: SessionOperations;
  readonly failedSignIns: FailedSignIns;
  /** Of those who read metrics. */
  readonly recentTokens: RecentTokens;
  readonly operations: AdminOperations;
  /** What of the store does not work, in words that anybody may read. */
  readonly troubles: () => readonly string[];
  /** What Prometheus reads. */
  readonly metrics: () => Awaitable<Page>;
  readonly log: Logger;
  readonly outages: Outages;
  /** By connection: errors and the console's files. */
  readonly freeResponses: FreeBudget;
  readonly makeRequestId: () => string;
}

/** A text with its media type. */
export interface Page {
  readonly type: string;
  readonly body: string;
}

/** A request, with what the router found out about it. */
export interface AdminIncoming {
  readonly request: Request;
  readonly route: Route<AdminOperation> | undefined;
  /** What the request's method does there. */
  readonly operation: AdminOperation | undefined;
  /** The parameters of the path, as they came. */
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** The address of the client. */
  readonly client: string;
  /** Its network, by which failed sign-ins are counted. */
  readonly network: string;
  /**
   * Keeps the connection of a signed-in operator open, although nothing moves on it and however many others there are: a
   * backup takes its time, and so does a long file.
   */
  readonly mayTakeLong: (mayIt: boolean) => void;
}
