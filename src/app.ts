/** The only place that knows all parts: configuration → storage → operations → server. */
import { randomBytes as systemRandomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { type Clock, systemClock } from './domain/clock.ts';
import type { RandomBytes } from './domain/key.ts';
import { maskedUrl } from './domain/masked-url.ts';
import { BanLog } from './http/ban-log.ts';
import { checkHost } from './http/host.ts';
import { Outages } from './http/outages.ts';
import { PageCache } from './http/page-cache.ts';
import { reservePort } from './http/port.ts';
import { requestLogOf } from './http/request-log.ts';
import { routesOf } from './http/routes.ts';
import { startServer } from './http/server.ts';
import { AccountOperations } from './operations/accounts.ts';
import { AdmissionOperations } from './operations/admission.ts';
import { ClientOperations } from './operations/client-operations.ts';
import { CopyOperations } from './operations/copies.ts';
import { type IssuedKey, KeyOperations } from './operations/keys.ts';
import type { Store } from './operations/units.ts';
import { isEmbedded, openTables } from './storage/open.ts';
import type { Notice } from './storage/outage.ts';
import type { Port } from './storage/port.ts';
import type { ServingWorker } from './storage/storage.ts';
import { openStore } from './store.ts';
import { Supervisor } from './supervisor/supervisor.ts';

export { isStoreFile } from './storage/sqlite/files.ts';
export { WorkerEnded } from './supervisor/worker-process.ts';

/** What comes from outside the program, so that tests can bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

export const systemRuntime = (): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
});

/** Everything an operator can do to a store, without serving it. */
export interface AdminServices extends AsyncDisposable {
  readonly storage: Store;
  readonly accounts: AccountOperations;
  readonly keys: KeyOperations;
}

/** How a store is opened; unless given, to manage one that is there. */
export interface OpenOptions {
  readonly serving?: boolean;
  /** Whether a store that is missing is made. */
  readonly create?: boolean;
  readonly worker?: ServingWorker | undefined;
  readonly supervising?: boolean;
  readonly notice?: Notice;
}

/** Opens the store, beside the process that may be serving it. Throws `StorageUnusable`. */
export async function openAdminServices(
  config: Config,
  runtime = systemRuntime(),
  { serving = false, ...how }: OpenOptions = {},
): Promise<AdminServices> {
  const { clock, randomBytes } = runtime;
  const { databaseUrl: url, cluster, limits: rules } = config;
  const storage = await openStore({ url, cluster, clock, rules, serving, ...how });
  return {
    storage,
    accounts: new AccountOperations(storage, clock),
    keys: new KeyOperations(storage, clock, randomBytes),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}

/** Opens two stores to copy one to the other. Throws `StorageUnusable`. */
export async function openCopy(fromUrl: string, toUrl: string): Promise<CopyOperations & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const from = opened.use(await openTables(fromUrl, true));
  const to = opened.use(await openTables(toUrl, false));
  const kept = opened.move();
  return Object.assign(new CopyOperations(from, to), {
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  });
}

/** What answers requests in one process; disposing it drains and stops it. */
export interface Service extends AsyncDisposable {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly admin: AdminServices;
}

export interface App extends AsyncDisposable {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  /** The key of the account made for an empty store; undefined for any other store. */
  readonly firstKey: IssuedKey | undefined;
  /** How the connections to the store's server are protected, in words; undefined where there is no server. */
  readonly encryption: string | undefined;
  /** Resolves with the reason when the process has to end, for its store cannot be written any more. */
  readonly lost?: Promise<Error> | undefined;
}

/** The service with its store open in this process. */
export interface LocalApp extends App {
  readonly admin: AdminServices;
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
  const { url, admin } = started.use(await startService(config, openapi, log, runtime));
  const firstKey = await makeFirstKey(config, admin, log);
  const kept = started.move();
  const { encryption, lost } = admin.storage;
  return { url, firstKey, encryption, lost, admin, [Symbol.asyncDispose]: () => kept.disposeAsync() };
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
  // Where the store is a server, this process only sees that it is there, and makes the first key.
  const how = { serving: embedded, supervising: true, create: true, notice: outages.notice };
  const admin = started.use(await openAdminServices(withPoolOf(config, 1), systemRuntime(), how));
  // If they do not come to serve, they end before the store that they reach through this process.
  started.defer(() => supervisor.kill());
  const { url } = await supervisor.serve({ environment, port: config.port });
  started.defer(() => supervisor.stop(stopWorkersWithinMs));
  const firstKey = await makeFirstKey(config, admin, log);
  const { encryption } = admin.storage;
  if (!embedded) await admin[Symbol.asyncDispose]();
  const kept = started.move();
  return { url, firstKey, encryption, [Symbol.asyncDispose]: () => kept.disposeAsync() };
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

/** Opens the store and answers requests in this process, alone or as one of several. Throws like `startApp`. */
export async function startService(
  config: Config,
  openapi: OpenapiOf,
  log: Logger,
  runtime = systemRuntime(),
  worker?: ServingWorker,
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  const outages = started.use(new Outages(log));
  const { notice } = outages;
  const settings = withPoolOf(config, Math.floor((config.cluster?.poolSize ?? 0) / (worker?.workers ?? 1)));
  const admin = started.use(await openAdminServices(settings, runtime, { serving: true, worker, notice }));
  const { storage } = admin;

  let draining = false;
  const server = startServer({
    context: {
      admission: new AdmissionOperations(storage.keys, storage.limits, runtime.clock, ({ message, fields }) =>
        log.info(fields, message),
      ),
      operations: new ClientOperations(storage, runtime.clock),
      pageCache: new PageCache(),
      clock: runtime.clock,
      publicUrl: config.publicUrl,
      corsOrigins: config.corsOrigins,
      log,
      outages,
      requestLog: requestLogOf(log, config.logRequests, config.logSlowMs),
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
    processes: worker?.workers ?? 1,
    trustedProxies: config.trustedProxies,
  });
  const url = () => listeningAddress(server.hostname ?? config.host, server.port);
  started.defer(async () => {
    // Keep-alive clients learn from `Connection: close` to come back elsewhere before the sockets go.
    draining = true;
    await server.stop(config.drainSeconds * 1_000, stopWithinMs);
  });
  const kept = started.move();
  return { url: url(), port: server.port, admin, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The address of a service that listens there, without a trailing slash, as programs on the same machine reach it. */
export function listeningAddress(host: string, port: number): string {
  // All addresses of the machine are none that a client could connect to.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Request ids: a random part for the process and a count within it. */
function requestIds(randomBytes: RandomBytes): () => string {
  const processPart = Buffer.from(randomBytes(9)).toString('base64url').replace(/_/g, '.');
  let count = 0;
  return () => `${processPart}-${++count}`;
}
