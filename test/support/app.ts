import { afterAll } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { type AdminServices, openAdminServices, type SingleProcessApp, startApp } from '../../src/app/app.ts';
import { openapiDocument } from '../../src/app/openapi.ts';
import type { Runtime } from '../../src/app/runtime.ts';
import { type Config, readConfig } from '../../src/config.ts';
import type { PlanName, Quota } from '../../src/domain/plan.ts';
import { scopes } from '../../src/domain/scope.ts';
import type { Account } from '../../src/tables/accounts.ts';
import type { Resolve } from '../../src/webhooks/endpoint.ts';
import { type Answer, answerOf, type CallOptions } from './call.ts';
import { FakeClock } from './clock.ts';
import { temporaryFolder } from './folder.ts';

/** An account with one key. */
export interface Tenant {
  readonly account: Account;
  readonly key: string;
  readonly keyId: number;
}

/** The service on a separate port with a separate store, and a clock that the test controls. */
export interface TestApp extends AsyncDisposable {
  readonly url: string;
  readonly clock: FakeClock;
  readonly app: SingleProcessApp;
  readonly config: Config;
  /** Changes the store as the command line does. The service must notice these changes. */
  readonly operator: AdminServices;
  /** The key of an account whose quota is too high to reach. */
  readonly key: string;
  /** Creates an account with a key that has all scopes. Enterprise accounts need a quota. */
  tenant(plan: PlanName, quota?: Quota): Promise<Tenant>;
  /** Sends a request and checks the response against the contract. `target` is relative to /v1. */
  call(method: string, target: string, options?: CallOptions): Promise<Answer>;
  /** Restarts the service with the same store. */
  restart(): Promise<void>;
}

const ample: Quota = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Resolves every host name to a public address, because the example hosts do not exist. */
export const publicly = async () => ['1.1.1.1'];

/**
 * Starts the service with these settings, keyed by environment variable. If it sends webhooks, it does so in a separate
 * thread as in production, and can only use IP addresses, unless the test passes a resolver.
 */
export async function startTestApp(
  settings: Readonly<Record<string, string>> = {},
  log: Logger = pino({ level: 'silent' }),
  resolve: Resolve | undefined = settings.WEBHOOKS === 'on' ? undefined : publicly,
  more: Pick<Runtime, 'aroundSend' | 'recordEveryMs' | 'sendEveryMs'> = {},
): Promise<TestApp> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder.path, 'store.db')}`,
    DRAIN_SECONDS: '0',
    // Webhooks are off by default, because most tests compare data that only the test may change.
    WEBHOOKS: 'off',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // The clock stands still, so no more than one second's deliveries can be sent.
    WEBHOOK_DELIVERIES_PER_SECOND: '10000',
    ...settings,
  });
  const clock = new FakeClock();
  const runtime = { clock, randomBytes, ...(resolve && { resolve }), ...more };
  const start = () => startApp(config, (listening) => openapiDocument(config, listening), log, runtime);

  let app = await start();
  started.defer(() => app[Symbol.asyncDispose]());
  const operator = started.use(await openAdminServices(config, runtime));

  async function tenant(plan: PlanName, quota?: Quota): Promise<Tenant> {
    const account = await app.admin.accounts.create(plan, plan, quota);
    const { key, id: keyId } = await app.admin.keys.create(account.id, plan, undefined, scopes);
    return { account, key, keyId };
  }

  const { key } = await tenant('enterprise', ample);
  const kept = started.move();
  return {
    get url() {
      return app.url;
    },
    get app() {
      return app;
    },
    clock,
    config,
    operator,
    key,
    tenant,
    call: (method, target, options = {}) => answerOf(app.url, method, target, { key, ...options }),
    restart: async () => {
      await app[Symbol.asyncDispose]();
      app = await start();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Starts the service for all tests of a file, and stops it after the last one. */
export async function startAppForFile(...options: Parameters<typeof startTestApp>): Promise<TestApp> {
  const app = await startTestApp(...options);
  afterAll(() => app[Symbol.asyncDispose]());
  return app;
}
