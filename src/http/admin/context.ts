import type { Logger } from 'pino';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import type { Operation } from '../../contract/operation.ts';
import type { ServingDependencies } from '../../operations/admin/services.ts';
import type { FailedSignIns } from '../../operations/sign-in/failed-sign-ins.ts';
import type { RecentTokens } from '../../operations/sign-in/recent-tokens.ts';
import type { SessionOperations } from '../../operations/sign-in/sessions.ts';
import type { UnmeteredResponses } from '../listener/unmetered-responses.ts';
import type { UnreadBodies } from '../listener/unread-body.ts';
import type { OutageLog } from '../logs/outage-log.ts';
import type { Route } from '../pipeline/routes.ts';
import type { ReadLimits } from './read-limits.ts';
import type { Site } from './site.ts';

export type AdminOperation = Operation & { readonly operationId: AdminOperationId };

export interface AdminContext {
  readonly site: Site;
  readonly sessions: SessionOperations;
  readonly failedSignIns: FailedSignIns;
  readonly recentTokens: RecentTokens;
  readonly services: ServingDependencies;
  /** Current failures of the store, without confidential details. */
  readonly troubles: () => readonly string[];
  readonly readLimits: ReadLimits;
  readonly log: Logger;
  readonly outages: OutageLog;
  /** Counts error responses and console files per connection. */
  readonly unmeteredResponses: UnmeteredResponses;
  readonly unreadBodies: UnreadBodies;
  readonly newRequestId: () => string;
}

export interface AdminIncoming {
  readonly request: Request;
  readonly route: Route<AdminOperation> | undefined;
  readonly operation: AdminOperation | undefined;
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly client: string;
  readonly network: string;
  /**
   * Exempts the connection from the idle timeout and the connection limit, because backups and downloads can take
   * minutes.
   */
  readonly mayTakeLong: (isAllowed: boolean) => void;
}
