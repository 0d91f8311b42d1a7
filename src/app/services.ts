/** An open store and all operator operations, which run on behalf of one actor. */

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Config } from '../config.ts';
import type { Actor } from '../domain/actor.ts';
import { type OperatorServices, servicesFor } from '../operations/admin/services.ts';
import type { Store } from '../operations/units.ts';
import type { Notify } from '../outages/outage.ts';
import type { ServingWorker } from '../storage/storage.ts';
import { type BackgroundTasks, createBackgroundTasks } from './background-tasks.ts';
import { createSystemRuntime } from './runtime.ts';
import { openStore } from './store.ts';
import { createWebhookServices, type WebhookServices } from './webhooks.ts';

export interface AdminServices extends OperatorServices, AsyncDisposable {
  readonly storage: Store;
  readonly webhooks: WebhookServices;
  readonly tasks: BackgroundTasks;
}

/** The defaults open an existing store for management only, without serving it. */
export interface OpenOptions {
  readonly isServing?: boolean;
  readonly create?: boolean;
  /**
   * Whether to upgrade a store of an older version; defaults to `isServing`. Only commands that are documented to
   * upgrade the store may set this.
   */
  readonly migrates?: boolean;
  readonly worker?: ServingWorker | undefined;
  readonly supervising?: boolean;
  readonly notice?: Notify;
  /** The actor recorded in the audit log. Defaults to the system user that runs this program. */
  readonly actor?: Actor;
}

/** Opens the store, even if another process is serving it. Throws `StoreUnusableError`. */
export async function openAdminServices(
  config: Config,
  runtime = createSystemRuntime(),
  { isServing = false, actor = { kind: 'cli', name: systemUserName() }, ...how }: OpenOptions = {},
): Promise<AdminServices> {
  const { randomBytes } = runtime;
  const { databaseUrl: url, cluster, limits: rules, events } = config;
  const settings = { url, cluster, clock: runtime.clock, rules, events: events.areRecorded };
  const opened = await openStore({ ...settings, isServing, ...how });
  const { clock } = opened;
  const tasks = createBackgroundTasks(opened, clock, how.notice);
  const storage: Store = { ...opened, health: () => [...opened.health(), ...tasks.troubles()] };
  const webhooks = createWebhookServices(config, { ...runtime, clock }, how.notice);
  return {
    ...servicesFor({ store: storage, clock, randomBytes, webhooks }, actor),
    ...{ storage, tasks },
    [Symbol.asyncDispose]: async () => {
      webhooks[Symbol.dispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

/** Name or uid of the user that runs this program. Not read from the environment, which can be forged. */
export function systemUserName(): string {
  const uid = process.getuid?.();
  return uid === undefined ? userInfo().username : (findUserName(uid) ?? String(uid));
}

/** Undefined if the user is not in `/etc/passwd`, as on macOS or with a directory service. */
function findUserName(uid: number): string | undefined {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
  } catch {
    return undefined;
  }
}
