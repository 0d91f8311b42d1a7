/** The only place that knows all parts: configuration → storage → operations → server. */
import { randomBytes as systemRandomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { type Admin, startAdmin } from './admin.ts';
import { startBackups } from './backups.ts';
import type { Config } from './config.ts';
import type { Actor } from './domain/actor.ts';
import { type Clock, systemClock } from './domain/clock.ts';
import type { RandomBytes } from './domain/key.ts';
import { maskedUrl } from './domain/masked-url.ts';
import { BanLog } from './http/ban-log.ts';
import { checkHost, listeningAddress } from './http/host.ts';
import { Outages } from './http/outages.ts';
import { reservePort } from './http/port.ts';
import { requestIds } from './http/request-id.ts';
import { routesOf } from './http/routes.ts';
import { type Around, startServer } from './http/server.ts';
import { type OperatorServices, servicesAs } from './operations/admin/services.ts';
import { AdmissionOperations } from './operations/admission.ts';
import { ClientOperations } from './operations/client-operations.ts';
import type { IssuedKey } from './operations/keys.ts';
import type { Store } from './operations/units.ts';
import { isEmbedded } from './storage/open.ts';
import type { Notice } from './storage/outage.ts';
import type { Port } from './storage/port.ts';
import type { ServingWorker } from './storage/storage.ts';
import { openStore } from './store.ts';
import { Supervisor } from './supervisor/supervisor.ts';
import { systemUser } from './system-user.ts';
import { ServiceWatch, type Watch, watchWorkers } from './watch.ts';

export { listeningAddress } from './http/host.ts';
export { isStoreFile } from './storage/sqlite/files.ts';
export { openCopy } from './store.ts';
export { WorkerEnded } from './supervisor/worker-process.ts';

/** What comes from outside the program, so that tests can bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Starts a process that makes or verifies a backup; unless given, this one does it, and does nothing else meanwhile. */
  readonly backupCommand?: readonly string[];
  /** What stands between requests and their answers; a service for a store has nothing there. */
  readonly around?: Around;
}

export const systemRuntime = (backupCommand?: readonly string[]): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
  ...(backupCommand && { backupCommand }),
});

/** Everything an operator can do to a store, without serving it. */
export interface AdminServices extends OperatorServices, AsyncDisposable {
  readonly storage: Store;
}

/** How a store is opened; unless given, to manage one that is there. */
export interface OpenOptions {
  readonly serving?: boolean;
  /** Whether a store that is missing is made. */
  readonly create?: boolean;
  readonly worker?: ServingWorker | undefined;
  readonly supervising?: boolean;
  readonly notice?: Notice;
  /** In whose name changes are made; unless given, the system's user who runs this program. */
  readonly actor?: Actor;
}

/** Opens the store, beside the process that may be serving it. Throws `StorageUnusable`. */
export async function openAdminServices(
  config: Config,
  runtime = systemRuntime(),
  { serving = false, actor = { kind: 'cli', name: systemUser() }, ...how }: OpenOptions = {},
): Promise<AdminServices> {
  const { clock, randomBytes } = runtime;
  const { databaseUrl: url, cluster, limits: rules } = config;
  const storage = await openStore({ url, cluster, clock, rules, serving, ...how });
  return {
    ...servicesAs({ store: storage, clock, randomBytes }, actor),
    storage,
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}

/** What answers requests in one process; disposing it drains and stops it. */
export interface Service extends AsyncDisposable {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly admin: AdminServices;
  readonly outages: Outages;
  readonly watch: ServiceWatch;
}

export interface App extends AsyncDisposable {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  /** The key of the account made for an empty store; undefined for any other store. */
  readonly firstKey: IssuedKey | undefined;
  /** Undefined where the admin listener is off. */
  readonly console: Admin | undefined;
  /** How the connections to the store's server are protected, in words; undefined where there is no server. */
  readonly encryption: string | undefined;
  /** Resolves with the reason when the process has to end, for its store cannot be written any more. */
  readonly lost?: Promise<Error> | undefined;
  /** What operators see of all processes. */
  readonly watch: Watch;
}

/** The service with its store open in this process. */
export interface LocalApp extends App {
  readonly admin: AdminServices;
  readonly watch: ServiceWatch;
}

/** Drain and requests under way get this long in all, so that with the store's end everything is over within 10 s. */
const stopWithinMs = 9_500;
/** The same and the end of the store, for a worker. */
const stopWorkersWithinMs = 9_750;

/** The OpenAPI document of a service that listens at this address. */
export type OpenapiOf = (listening: string) => string;

/**
 * Starts the service in this process alone; disposing it drains and stops it. Throws `HostUnusable`, `StorageUnusable`,
 * or an error if the port is taken.
 */
export async function startApp(
  config: Config,
  openapi: OpenapiOf,
  log: Logger,
  runtime = systemRuntime(),
): Promise<LocalApp> {
  await checkHost(config.host);
  await using started = new AsyncDisposableStack();
  const { url, admin, outages, watch } = started.use(await startService(config, openapi, log, runtime));
  const { storage: store } = admin;
  const { operations: backups } = started.use(startBackups(config, { ...runtime, store, log }));
  const parts = { ...runtime, store, outages, backups, log, watch };
  const console = started.use(await startAdmin(config, parts));
  const firstKey = await makeFirstKey(config, admin, log);
  const kept = started.move();
  const { encryption, lost } = admin.storage;
  return {
    url,
    firstKey,
    console,
    encryption,
    lost,
    admin,
    watch,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/**
 * Starts the service in several processes under this one, which serves nothing itself; disposing it drains and stops all.
 * `command` starts a worker, which calls `startService`. Throws like `startApp`.
 */
export async function startWorkers(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  command: (worker: number) => readonly string[],
  log: Logger,
  runtime = systemRuntime(),
): Promise<App> {
  const { databaseUrl, workers } = config;
  const embedded = isEmbedded(databaseUrl);
  await using started = new AsyncDisposableStack();
  const connect = (worker: number, port: Port) => admin.storage.serveWorker?.(worker, port);
  // First, for the processes load the program while this one opens the store.
  const supervisor = new Supervisor({ workers, command, log, connect });
  started.defer(() => supervisor.kill());
  await checkHost(config.host);
  started.use(await reservePort(config.host, config.port));
  const outages = started.use(new Outages(log));
  // Where the store is a server, this process serves operators only, and makes the first key.
  const how = { serving: embedded, supervising: true, create: true, notice: outages.notice };
  const settings = withPoolOf(config, supervisorPoolSize);
  const admin = started.use(await openAdminServices(settings, runtime, how));
  // If they do not come to serve, they end before the store that they reach through this process.
  started.defer(() => supervisor.kill());
  const startedAt = Date.now();
  const { url, port } = await supervisor.serve({ environment, port: config.port, startedAt });
  started.defer(() => supervisor.stop(stopWorkersWithinMs));
  const watch = watchWorkers(supervisor, config, log, { startedAt, port });
  const { storage: store } = admin;
  const { operations: backups } = started.use(startBackups(config, { ...runtime, store, log }));
  const parts = { ...runtime, store, outages, backups, log, watch };
  const console = started.use(await startAdmin(config, parts));
  const firstKey = await makeFirstKey(config, admin, log);
  const { encryption } = admin.storage;
  const kept = started.move();
  return { url, firstKey, console, encryption, watch, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Connections to PostgreSQL that the supervisor keeps for operators: one that reads, and one that writes. */
const supervisorPoolSize = 2;

/** The configuration of one process: with all connections to PostgreSQL, or a worker's part of what its supervisor leaves. */
function configOfProcess(config: Config, worker: ServingWorker | undefined): Config {
  const all = config.cluster?.poolSize ?? 0;
  return withPoolOf(
    config,
    worker === undefined ? all : Math.floor((all - supervisorPoolSize) / worker.workers),
  );
}

/** The configuration with a PostgreSQL pool of this size, at least 1; the setting is of all workers together. */
function withPoolOf(config: Config, size: number): Config {
  const { cluster } = config;
  return { ...config, cluster: cluster && { ...cluster, poolSize: Math.max(1, size) } };
}

/** Says that the store is new, and makes its first key; undefined where there was one. */
async function makeFirstKey({ databaseUrl }: Config, admin: AdminServices, log: Logger) {
  if (admin.storage.created) log.info({ database: maskedUrl(databaseUrl) }, 'created a new store');
  // Only now that the service listens, for a key made before a port turned out to be taken would never be shown.
  const firstKey = await admin.keys.createFirst('default', 'free', 'first');
  if (firstKey !== undefined) {
    log.info({ account: firstKey.accountId, key: firstKey.id }, 'created the first account and API key');
  }
  return firstKey;
}

function admissionTo({ keys, limits }: Store, clock: Clock, log: Logger): AdmissionOperations {
  return new AdmissionOperations(keys, limits, clock, ({ message, fields }) => log.info(fields, message));
}

/** Opens the store and answers requests in this process, alone or as one of several. Throws like `startApp`. */
export async function startService(
  config: Config,
  openapi: OpenapiOf,
  log: Logger,
  runtime = systemRuntime(),
  worker?: ServingWorker & { readonly startedAt: number },
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  const outages = started.use(new Outages(log));
  const how = { serving: true, worker, notice: outages.notice };
  const admin = started.use(await openAdminServices(configOfProcess(config, worker), runtime, how));
  const { storage } = admin;
  const { clock } = runtime;
  const watch = started.use(new ServiceWatch({ config, store: storage, clock, log, worker }));

  let draining = false;
  const server = startServer({
    context: {
      admission: admissionTo(storage, clock, log),
      operations: new ClientOperations(storage, clock),
      pageCache: watch.pageCache,
      clock,
      publicUrl: config.publicUrl,
      corsOrigins: config.corsOrigins,
      log,
      outages,
      traffic: watch.counter,
      get requestLog() {
        return watch.logging.requestLog;
      },
      bans: new BanLog(log),
      makeRequestId: requestIds(runtime.randomBytes),
      isDraining: () => draining,
    },
    routes: routesOf(config.publicUrl, { getPet: config.getPetSunset }),
    publicRoutes: {
      openapi: () => openapi(url()),
      publicUrl: config.publicUrl,
      perMinute: config.publicRequestsPerMinute,
      health: () => storage.health(),
    },
    hostname: config.host,
    port: config.port,
    maxConnections: config.maxConnections,
    idleTimeoutSeconds: config.idleTimeoutSeconds,
    processes: worker?.workers ?? 1,
    trustedProxies: config.trustedProxies,
    around: runtime.around,
  });
  const url = () => listeningAddress(server.hostname ?? config.host, server.port);
  started.defer(async () => {
    // Keep-alive clients learn from `Connection: close` to come back elsewhere before the sockets go.
    draining = true;
    await server.stop(config.drainSeconds * 1_000, stopWithinMs);
  });
  watch.begin(server);
  const kept = started.move();
  return {
    url: url(),
    port: server.port,
    admin,
    outages,
    watch,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
