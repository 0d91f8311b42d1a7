/** The store as operators use it: open, with every operation, in an operator's name. */
import { randomBytes as systemRandomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import type { Actor } from '../domain/actor.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import type { Around } from '../http/server.ts';
import { type OperatorServices, servicesAs } from '../operations/admin/services.ts';
import type { Store } from '../operations/units.ts';
import type { Notice } from '../storage/outage.ts';
import type { ServingWorker } from '../storage/storage.ts';
import type { Send } from '../webhooks/attempt.ts';
import type { Resolve } from '../webhooks/endpoint.ts';
import { openStore } from './store.ts';
import { systemUser } from './system-user.ts';

/** What comes from outside the program, so that tests can bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Finds the addresses of the endpoints of webhooks. Defaults to the system's resolver. */
  readonly resolve?: Resolve;
  /** Starts a process that makes or verifies a backup. Defaults to this process, which the work blocks. */
  readonly backupCommand?: readonly string[];
  /** What stands between requests and their answers; a service for a store has nothing there. */
  readonly around?: Around;
  /** What stands between messages to webhooks and their sending; a service for a store has nothing there. */
  readonly aroundSend?: (send: Send) => Send;
}

export const systemRuntime = (backupCommand?: readonly string[]): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
  ...(backupCommand && { backupCommand }),
});

export interface AdminServices extends OperatorServices, AsyncDisposable {
  readonly storage: Store;
}

/** How a store is opened. Defaults to managing an existing store. */
export interface OpenOptions {
  readonly serving?: boolean;
  readonly create?: boolean;
  readonly worker?: ServingWorker | undefined;
  readonly supervising?: boolean;
  readonly notice?: Notice;
  /** The actor that the audit log records. Defaults to the system user that runs this program. */
  readonly actor?: Actor;
}

/** Opens the store, beside the process that may be serving it. Throws `StorageUnusable`. */
export async function openAdminServices(
  config: Config,
  runtime = systemRuntime(),
  { serving = false, actor = { kind: 'cli', name: systemUser() }, ...how }: OpenOptions = {},
): Promise<AdminServices> {
  const { clock, randomBytes } = runtime;
  const { databaseUrl: url, cluster, limits: rules, events } = config;
  const settings = { url, cluster, clock, rules, events: events.areRecorded };
  const storage = await openStore({ ...settings, serving, ...how });
  return {
    ...servicesAs({ store: storage, clock, randomBytes }, actor),
    storage,
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}
