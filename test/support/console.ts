/** The console of a running service, in a real browser. */

import { join } from 'node:path';
import pino from 'pino';
import { type SingleProcessApp, startApp } from '../../src/app/app.ts';
import { openapiDocument } from '../../src/app/openapi.ts';
import { readConfig } from '../../src/config.ts';
import type { PlanName, Quota } from '../../src/domain/plan.ts';
import type { Role } from '../../src/domain/role.ts';
import { scopes } from '../../src/domain/scope.ts';
import { createOperator } from '../../src/operations/admin/operators.ts';
import type { Tenant } from './app.ts';
import { pagesOf, TestBrowser, type TestPages } from './browser.ts';
import { temporaryFolder } from './folder.ts';

export interface TestConsole extends TestPages, AsyncDisposable {
  readonly app: SingleProcessApp;
  /** Path of the store's data file. */
  readonly storePath: string;
  /** Base URL of the client API. */
  readonly apiUrl: string;
  /** URL of the console. */
  readonly url: string;
  addOperator(name: string, role: Role): Promise<string>;
  addAccount(name: string, plan: PlanName, quota?: Quota): Promise<Tenant>;
}

export async function startConsole(settings: Readonly<Record<string, string>> = {}): Promise<TestConsole> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const storePath = join(folder.path, 'store.db');
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `sqlite:${storePath}`,
    BACKUP_FOLDER: join(folder.path, 'backups'),
    DRAIN_SECONDS: '0',
    ...settings,
  });
  const log = pino({ level: 'silent' });
  const app = started.use(await startApp(config, (listening) => openapiDocument(config, listening), log));
  const url = app.console?.url ?? '';
  const browser = started.use(new TestBrowser());
  const kept = started.move();
  return {
    ...pagesOf(browser, url),
    app,
    storePath,
    apiUrl: app.url,
    url,
    addOperator: async (name, role) => (await createOperator(app.admin, name, role)).token,
    addAccount: async (name, plan, quota) => {
      const account = await app.admin.accounts.create(name, plan, quota);
      const { key, id: keyId } = await app.admin.keys.create(account.id, name, undefined, scopes);
      return { account, key, keyId };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
