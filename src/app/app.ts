/**
 * Composition root: the only module that depends on all others. Reading order:
 *
 * 1. `app.ts`: the service in one process, or in several under a supervisor.
 * 2. `service.ts`: one process that answers requests.
 * 3. `services.ts` and `store.ts`: the store, and operator services for a store that is not being served; `runtime.ts`:
 *    clock and randomness.
 * 4. `admin.ts`, `service-watch.ts`, `backups.ts`, `secrets.ts`: the admin listener, observability, scheduled backups, and the
 *    encryption of secrets.
 * 5. `writer-thread.ts`: the thread that writes to an embedded store.
 */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { maskUrl } from '../domain/mask-url.ts';
import { expectFreePort, reservePort, resolveHost } from '../http/listener/host.ts';
import { OutageLog } from '../http/logs/outage-log.ts';
import type { IssuedKey } from '../operations/admin/keys.ts';
import { ifAvailable } from '../operations/errors.ts';
import { EventFeed } from '../operations/events/feed.ts';
import type { MessagePortLike } from '../storage/storage.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { type Admin, startAdmin } from './admin.ts';
import { startBackups } from './backups.ts';
import { createSystemRuntime, type Runtime } from './runtime.ts';
import { startReencryption } from './secrets.ts';
import { type BuildOpenApiDocument, startService, supervisorPoolSize, withPoolSize } from './service.ts';
import { type ServiceWatch, type Watch, watchWorkers } from './service-watch.ts';
import { type AdminServices, openAdminServices } from './services.ts';
import { isEmbedded } from './store.ts';

export { partialName, removeLeftovers } from '../backup/leftovers.ts';
export { localUrl } from '../http/listener/host.ts';
export { DataDamagedError } from '../outages/errors.ts';
export { createFile, createFolder, inheritOwner, isStoreFile } from '../store-files/files.ts';
export { WorkerExitedError } from '../supervisor/worker-process.ts';
export { createSystemRuntime, type Runtime } from './runtime.ts';
export { type BuildOpenApiDocument, type Service, startService } from './service.ts';
export { type AdminServices, type OpenOptions, openAdminServices } from './services.ts';
export { openCopyStores } from './store.ts';

export interface App extends AsyncDisposable {
  readonly url: string;
  /** The key of the first account in a new store; undefined if the store already had a key. */
  readonly firstKey: IssuedKey | undefined;
  /** Undefined if the admin listener is off. */
  readonly console: Admin | undefined;
  /** Whether an operator can sign in to the console with a token. */
  readonly hasOperators: boolean;
  /** Describes how connections to the database server are encrypted; undefined for an embedded store. */
  readonly encryption: string | undefined;
  /** Resolves with a reason when the process must exit because its store can no longer be written to. */
  readonly writerLost?: Promise<Error> | undefined;
  /** Reason why stopping may delete the last copy of the data; undefined if it does not. */
  readonly dataLoss: (() => string | undefined) | undefined;
  readonly watch: Watch;
}

export interface SingleProcessApp extends App {
  readonly admin: AdminServices;
  readonly watch: ServiceWatch;
}

/**
 * Maximum time for workers to drain, finish pending requests and close the store, so that shutdown takes at most 10 s.
 */
const workersStopTimeoutMs = 9_750;

/** Saves the first key of a new store where it survives a failed startup. Must not throw. */
type SaveFirstKey = (key: IssuedKey) => void;

/**
 * Disposing the app drains and stops the service. If `keepFirstKey` is given, it is called before the service listens.
 * Throws `StoreUnusableError`, or an error if the host or port is unavailable.
 */
export async function startApp(
  config: Config,
  openapi: BuildOpenApiDocument,
  log: Logger,
  runtime = createSystemRuntime(),
  keepFirstKey?: SaveFirstKey,
): Promise<SingleProcessApp> {
  const host = await resolveHost(config.host, { log });
  await using started = new AsyncDisposableStack();
  const firstKey = createFirstKey(config, log, keepFirstKey);
  const prepare = async (store: AdminServices) => {
    // If the port is in use, startup fails before anything is created.
    if (keepFirstKey === undefined) return;
    await expectFreePort(host, config.port);
    await firstKey(store);
  };
  const { url, admin, feed, outages, watch } = started.use(
    await startService({ ...config, host }, openapi, log, runtime, undefined, prepare),
  );
  const served = { url, firstKey, admin, feed, outages, watch };
  const operated = started.use(await startOperating(config, served, runtime, log));
  const resources = started.move();
  const { writerLost } = admin.storage;
  return { ...operated, writerLost, admin, watch, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/**
 * Like `startApp`, but starts several workers; this process supervises them and serves no clients itself. `command`
 * starts a worker, which calls `startService`.
 */
export async function startWorkers(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  command: (worker: number) => readonly string[],
  log: Logger,
  runtime = createSystemRuntime(),
  keepFirstKey?: SaveFirstKey,
): Promise<App> {
  const { databaseUrl, workers } = config;
  const embedded = isEmbedded(databaseUrl);
  await using started = new AsyncDisposableStack();
  const connect = (worker: number, port: MessagePortLike) => admin.storage.serveWorker?.(worker, port);
  // The workers are started first, so that they load the program while this process opens the store.
  const supervisor = new Supervisor({ workers, command, log, connect });
  started.defer(() => supervisor.kill());
  const host = await resolveHost(config.host, { log });
  started.use(await reservePort(host, config.port));
  const outages = started.use(new OutageLog(log));
  // With PostgreSQL, this process serves only operators and creates the first key.
  const how = {
    isServing: embedded,
    supervising: true,
    create: true,
    migrates: true,
    notice: outages.notice,
  };
  const settings = withPoolSize(config, supervisorPoolSize);
  const admin = started.use(await openAdminServices(settings, runtime, how));
  outages.watch(admin.storage);
  // If startup fails, workers must exit before the store closes, because they use it through this process.
  started.defer(() => supervisor.kill());
  const firstKey = createFirstKey(config, log, keepFirstKey);
  if (keepFirstKey !== undefined) await firstKey(admin);
  const startedAt = Date.now();
  const { url, port } = await supervisor.serve({
    environment: { ...environment, HOST: host },
    port: config.port,
    startedAt,
  });
  started.defer(() => supervisor.stop(workersStopTimeoutMs));
  const watch = watchWorkers(supervisor, config, { log, output: runtime.output, startedAt, port });
  const feed = started.use(new EventFeed(admin.storage.events, admin.clock, admin.tasks.events.begin));
  const served = { url, firstKey, admin, feed, outages, watch };
  const operated = started.use(await startOperating(config, served, runtime, log));
  const resources = started.move();
  return { ...operated, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

interface StartedService extends Pick<App, 'url' | 'watch'> {
  readonly firstKey: IssueFirstKey;
  readonly admin: AdminServices;
  readonly feed: EventFeed;
  readonly outages: OutageLog;
}

/** Starts the services for operators: backups, secret encryption, and the admin listener. */
async function startOperating(
  config: Config,
  { url, firstKey, admin, feed, outages, watch }: StartedService,
  runtime: Runtime,
  log: Logger,
): Promise<App> {
  const { storage: store, clock, webhooks } = admin;
  await using started = new AsyncDisposableStack();
  const { operations: backups } = started.use(startBackups(config, { ...runtime, clock, store, log }));
  const secrets = started.use(startReencryption(config, { store, ...webhooks, log }));
  const console = started.use(
    await startAdmin(config, {
      ...{ ...runtime, clock, store, webhooks, outages, backups, secrets, feed, log, watch },
      apiUrl: config.publicUrl ?? url,
    }),
  );
  const issuedKey = await firstKey(admin);
  const hasOperators = await hasActiveOperators(admin);
  const { encryption, dataLoss } = store;
  const resources = started.move();
  return {
    ...{ url, firstKey: issuedKey, console, hasOperators, encryption, dataLoss, watch },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** True if operators exist, or if that is unknown: the service is already ready, so an outage must not end it. */
async function hasActiveOperators({ storage }: AdminServices): Promise<boolean> {
  const operators = await ifAvailable(() => storage.operators.list());
  return operators === undefined || operators.some(({ revokedAt }) => revokedAt === null);
}

type IssueFirstKey = (admin: AdminServices) => Promise<IssuedKey | undefined>;

/**
 * Returns a function that creates the first key of a new store, once; it resolves with undefined if the store already had
 * a key. If the key can be saved, it is created before the service listens, so that a program that waits for `/readyz`
 * finds it. Otherwise, it is created afterwards, because it would never be shown if startup failed.
 */
function createFirstKey({ databaseUrl }: Config, log: Logger, keep: SaveFirstKey | undefined): IssueFirstKey {
  let issued: ReturnType<IssueFirstKey> | undefined;
  const issue: IssueFirstKey = async ({ storage, keys }) => {
    if (storage.created) log.info({ database: maskUrl(databaseUrl) }, 'created a new store');
    const key = await keys.createFirst('default', 'free', 'first');
    if (key === undefined) return undefined;
    keep?.(key);
    log.info({ account: key.accountId, key: key.id }, 'created the first account and API key');
    return key;
  };
  return (admin) => {
    issued ??= issue(admin);
    return issued;
  };
}
