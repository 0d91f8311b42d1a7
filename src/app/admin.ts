/** Composes the admin listener, which runs in the process that opened the store. */
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Actor } from '../domain/actor.ts';
import type { Clock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import { Console } from '../http/admin/console.ts';
import { bundleConsole } from '../http/admin/console-files.ts';
import type { AdminContext } from '../http/admin/context.ts';
import { ReadLimits } from '../http/admin/read-limits.ts';
import { type AdminServer, startAdminServer } from '../http/admin/server.ts';
import { Site } from '../http/admin/site.ts';
import { localUrl, resolveHost } from '../http/listener/host.ts';
import { UnmeteredResponses } from '../http/listener/unmetered-responses.ts';
import { UnreadBodies } from '../http/listener/unread-body.ts';
import type { OutageLog } from '../http/logs/outage-log.ts';
import { createRequestIdGenerator } from '../http/pipeline/request-head.ts';
import type { BackupOperations } from '../operations/admin/backups.ts';
import type { ConcernSource, SystemOperations } from '../operations/admin/system.ts';
import type { WebhookSending } from '../operations/admin/webhooks.ts';
import type { EventFeed } from '../operations/events/feed.ts';
import { ImportList } from '../operations/imports/list.ts';
import { listTroubles } from '../operations/observability/concerns.ts';
import { FailedSignIns } from '../operations/sign-in/failed-sign-ins.ts';
import { OneTimeCode } from '../operations/sign-in/one-time-code.ts';
import { RecentTokens } from '../operations/sign-in/recent-tokens.ts';
import { SessionOperations } from '../operations/sign-in/sessions.ts';
import type { Store } from '../operations/units.ts';
import { createSystemOperations, type Watch } from './service-watch.ts';
import { systemUserName } from './services.ts';
import { sqlitePath } from './store.ts';

interface AdminOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly log: Logger;
  readonly outages: OutageLog;
  readonly watch: Watch;
  readonly backups: BackupOperations;
  readonly feed: EventFeed;
  readonly webhooks: WebhookSending;
  readonly secrets: ConcernSource;
  /** Address of the client API. */
  readonly apiUrl: string;
}

export interface Admin extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Creates the one-time code for a console link and invalidates the previous code. */
  readonly createCode: () => string;
}

/**
 * Starts the admin listener; returns undefined if it is off or its default port is in use. Throws if the host is not an
 * address of this machine, or if a configured port is in use.
 */
export async function startAdmin(config: Config, options: AdminOptions): Promise<Admin | undefined> {
  const { admin, trustedProxies } = config;
  if (admin === undefined) return undefined;
  const { port, origin, isPortSet } = admin;
  const { clock, randomBytes, log } = options;
  const hostname = await resolveHost(admin.host, { log, setting: 'ADMIN_HOST' });
  const code = new OneTimeCode(clock, randomBytes);
  const system = createSystemOperations(options.watch, config, options);
  const context = createContext(config, options, code, system);
  const console = new Console(bundleConsole);
  let server: AdminServer;
  try {
    server = startAdminServer({ context, console, hostname, port, trustedProxies });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (isPortSet) {
      throw new Error(
        `Port ${port} on ${hostname} is already in use. Stop the process that uses it, or set ADMIN_PORT to another port (0 for any free port, off for none).`,
      );
    }
    log.warn(
      { port },
      'the admin API and the console are off: their port is in use; set ADMIN_PORT to another',
    );
    return undefined;
  }
  return {
    port: server.port,
    url: origin ?? localUrl(server.hostname ?? hostname, server.port),
    createCode: () => code.create(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function createContext(
  { admin, databaseUrl, events: eventSettings }: Config,
  { store, clock, randomBytes, log, outages, watch, backups, feed, webhooks }: AdminOptions,
  code: OneTimeCode,
  system: SystemOperations,
): AdminContext {
  const codeActor: Actor = { kind: 'console', name: systemUserName() };
  return {
    site: new Site(admin?.origin),
    sessions: new SessionOperations({ store, clock, randomBytes, code, codeActor }),
    failedSignIns: new FailedSignIns(clock),
    recentTokens: new RecentTokens(clock),
    services: {
      ...{ store, clock, randomBytes, webhooks, system, backups, logging: watch.logging },
      ...{ failedRequests: watch.failedRequests, importList: new ImportList(clock) },
      ...{ uploadFolder: uploadFolder(databaseUrl), feed, eventSettings },
    },
    troubles: () => listTroubles(store),
    readLimits: new ReadLimits(),
    log,
    outages,
    unmeteredResponses: new UnmeteredResponses(clock),
    unreadBodies: new UnreadBodies(clock),
    newRequestId: createRequestIdGenerator(randomBytes),
  };
}

/**
 * The folder of an embedded store, because a service in a container may not be able to write anywhere else; otherwise,
 * the folder in TMPDIR.
 */
function uploadFolder(databaseUrl: string): string {
  const path = sqlitePath(databaseUrl);
  return path === undefined ? tmpdir() : dirname(realpathSync(path));
}
