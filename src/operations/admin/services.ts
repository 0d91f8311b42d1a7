import type { Actor } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';
import type { OperatorContext, OperatorIdempotency } from '../changes/by-operator.ts';
import type { EventFeed } from '../events/feed.ts';
import { ImportOperations } from '../imports/imports.ts';
import type { ImportList } from '../imports/list.ts';
import type { FailedRequestSource } from '../observability/failed-requests.ts';
import type { LoggingControl } from '../observability/worker-queries.ts';
import type { EventRetention } from '../sweeper.ts';
import type { Store } from '../units.ts';
import { AccountOperations } from './accounts.ts';
import type { BackupOperations } from './backups.ts';
import { KeyOperations } from './keys.ts';
import type { SystemOperations } from './system.ts';
import type { WebhookSending } from './webhooks.ts';

/** Dependencies of operator operations, assembled in `src/app/admin.ts`. */
interface AdminDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly webhooks: WebhookSending;
}

export interface ServingDependencies extends AdminDependencies {
  readonly backups: BackupOperations;
  readonly system: SystemOperations;
  readonly logging: LoggingControl;
  readonly failedRequests: FailedRequestSource;
  readonly importList: ImportList;
  readonly uploadFolder: string;
  readonly feed: EventFeed;
  readonly eventSettings: EventRetention;
}

/** The services for one operator. Changes made through them are recorded with that operator's name. */
export interface OperatorServices extends AdminDependencies, OperatorContext {
  readonly accounts: AccountOperations;
  readonly keys: KeyOperations;
  readonly imports: ImportOperations;
}

export function servicesFor<Dependencies extends AdminDependencies>(
  dependencies: Dependencies,
  actor: Actor,
  once?: OperatorIdempotency,
): OperatorServices & Dependencies {
  const { store, clock, randomBytes } = dependencies;
  const context = { store, clock, actor, once };
  return {
    ...dependencies,
    ...context,
    accounts: new AccountOperations(context),
    keys: new KeyOperations(context, randomBytes),
    imports: new ImportOperations(context),
  };
}
