/** Runs the real service on a temporary store, with faults, an adjustable clock and a list of recent requests. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type AdminServices, createSystemRuntime, openAdminServices, startApp } from '../src/app/app.ts';
import { type Config, readConfig } from '../src/config.ts';
import { ApiError } from '../src/contract/api-error.ts';
import { basePath } from '../src/contract/operations.ts';
import { computeFingerprint } from '../src/domain/key.ts';
import { planNames } from '../src/domain/plan.ts';
import { resolveHost } from '../src/http/listener/host.ts';
import { OutageLog } from '../src/http/logs/outage-log.ts';
import { requestPath } from '../src/http/pipeline/query.ts';
import type { Exchange, Middleware } from '../src/http/server.ts';
import type { KeyStore } from '../src/storage/storage.ts';
import { createAccount, type SandboxAccount } from './accounts.ts';
import { SandboxClock } from './clock.ts';
import { Control, controlPath } from './control.ts';
import { Faults } from './faults.ts';
import { createFolder } from './folder.ts';
import { SandboxLimits } from './limits.ts';
import { Misbehavior } from './misbehavior.ts';
import { Requests } from './requests.ts';
import type { QuietLogging } from './simulated-errors.ts';
import { SandboxStore } from './store.ts';
import { Stores } from './stores.ts';
import { WebhookFaults } from './webhook-faults.ts';

export interface SandboxOptions {
  readonly host: string;
  readonly port: number;
  readonly corsOrigins?: string | undefined;
  readonly log: Logger;
  readonly openapi: (config: Config, listening: string) => string;
  readonly fill?: ((services: AdminServices) => Promise<void>) | undefined;
}

export interface Sandbox extends AsyncDisposable {
  readonly url: string;
  readonly accounts: readonly SandboxAccount[];
}

/** Starts a sandbox. Disposing it removes its store. Throws any error from `startApp` or `fill`. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const host = await resolveHost(options.host, { log: options.log, setting: '--host' });
  return start({ ...options, host }, undefined);
}

interface Parent {
  readonly start: string;
  readonly accounts: readonly SandboxAccount[];
  readonly onRequest: () => void;
}

async function start(options: SandboxOptions, parent: Parent | undefined): Promise<Sandbox> {
  const { log, openapi, fill } = options;
  await using started = new AsyncDisposableStack();
  const clock = new SandboxClock();
  const folder = started.use(createFolder(clock.now()));
  const files = { data: join(folder.path, 'store.db'), start: join(folder.path, 'start.db') };
  const config = configOf(options, files.data);
  if (parent !== undefined) copyFileSync(parent.start, files.data);
  const accounts = parent?.accounts ?? (await createStore(config, clock, fill));
  copyFileSync(files.data, files.start);

  const stopController = new AbortController();
  let middleware: Middleware = ({ respond }) => respond();
  const faults = new Faults();
  let admin: AdminServices | undefined;
  const webhooks = () => admin?.storage.webhooks;
  const webhookFaults = new WebhookFaults({ faults, webhooks, clock, stopSignal: stopController.signal });
  const runtime = {
    ...createSystemRuntime(),
    clock,
    middleware: (exchange: Exchange) => middleware(exchange),
    aroundSend: webhookFaults.around,
  };
  const app = started.use(await startApp(config, (url) => openapi(config, url), log, runtime));
  const store = started.use(new SandboxStore(files.data, files.start));
  const quietLog = log.child({}, { level: 'silent' });
  const quiet = { log: quietLog, outages: started.use(new OutageLog(quietLog)) };
  // Disposed first, so that delayed messages do not keep the service from stopping.
  started.defer(() => stopController.abort());
  const open = (onRequest: () => void) =>
    start({ ...options, port: 0 }, { start: files.start, accounts, onRequest });
  const stores = parent === undefined ? started.use(new Stores(open, () => performance.now())) : undefined;
  const { onRequest } = parent ?? {};
  admin = app.admin;
  middleware = createMiddleware({
    config,
    clock,
    store,
    stores,
    accounts,
    admin,
    faults,
    webhookFaults,
    quiet,
    onRequest,
    stopSignal: stopController.signal,
  });
  const resources = started.move();
  return { url: app.url, accounts, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Returns the settings of a sandbox. The environment is ignored, because it may contain the URL of a real store. */
function configOf({ host, port, corsOrigins = '' }: SandboxOptions, path: string): Config {
  return readConfig({
    HOST: host,
    PORT: String(port),
    DATABASE_URL: `sqlite:${path}`,
    CORS_ORIGINS: corsOrigins,
    ADMIN_PORT: 'off',
    DRAIN_SECONDS: '0',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
    // Effectively unlimited, because tests may request /readyz and the guides very often.
    PUBLIC_REQUESTS_PER_MINUTE: '1000000000',
  });
}

/** Creates the initial store on this thread, because the service's writer thread takes longer to start. */
async function createStore(
  config: Config,
  clock: SandboxClock,
  fill: SandboxOptions['fill'],
): Promise<SandboxAccount[]> {
  await using services = await openAdminServices(
    config,
    { ...createSystemRuntime(), clock },
    { create: true },
  );
  const accounts = await Promise.all(planNames.map((plan) => createAccount(services, { plan })));
  await fill?.(services);
  return accounts;
}

interface MiddlewareDependencies {
  readonly config: Config;
  readonly clock: SandboxClock;
  readonly store: SandboxStore;
  readonly stores: Stores | undefined;
  readonly onRequest: (() => void) | undefined;
  readonly accounts: readonly SandboxAccount[];
  readonly admin: AdminServices;
  readonly faults: Faults;
  readonly webhookFaults: WebhookFaults;
  readonly quiet: QuietLogging;
  readonly stopSignal: AbortSignal;
}

function createMiddleware(dependencies: MiddlewareDependencies): Middleware {
  const { config, clock, store, stores, accounts, admin, faults, quiet, stopSignal } = dependencies;
  const requests = new Requests();
  const limits = new SandboxLimits(store, clock, config.limits.ban);
  const keys: KeyStore = admin.storage.keys;
  const misbehavior = new Misbehavior({ keys, clock, limits, faults, requests, quiet, stopSignal });
  const control = new Control({
    clock,
    faults,
    requests,
    stores,
    accounts,
    createAccount: (account) => createAccount(admin, account),
    findAccount: (id) => admin.accounts.find(id),
    revokeKey: async (key) => {
      const caller = await keys.findCaller(computeFingerprint(key));
      if (caller === undefined) throw new ApiError('key_not_found');
      await admin.keys.revoke(caller.keyId);
    },
    reset: () => {
      store.restoreInitial();
      faults.end(undefined);
      dependencies.webhookFaults.reset();
      requests.clear(undefined);
      clock.reset();
    },
  });
  return async (exchange) => {
    dependencies.onRequest?.();
    const path = requestPath(exchange.incoming.request.url);
    if (isBelow(path, controlPath)) return control.answer(exchange);
    const response = await (isBelow(path, basePath) ? misbehavior.answer(exchange) : exchange.respond());
    // Clients compare times in a response with its Date header.
    if (clock.advancedSeconds > 0) response.headers.set('Date', new Date(clock.now()).toUTCString());
    return response;
  };
}

function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}
