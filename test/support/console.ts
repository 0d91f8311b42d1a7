/** The console of a real service, in a real browser. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { type LocalApp, startApp } from '../../src/app.ts';
import { openapiText } from '../../src/cli/openapi.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/domain/clock.ts';
import type { PlanName, Quota } from '../../src/domain/plan.ts';
import type { Role } from '../../src/domain/role.ts';
import { scopes } from '../../src/domain/scope.ts';
import { OperatorOperations } from '../../src/operations/operators.ts';
import type { Tenant } from './app.ts';
import { temporaryFolder } from './folder.ts';
import { maxWaitMs } from './wait.ts';

/** The browser, as Debian has it. */
export const browserCommand = 'chromium';

export interface TestConsole extends AsyncDisposable {
  readonly app: LocalApp;
  /** Where clients are served. */
  readonly apiUrl: string;
  /** Where the console is. */
  readonly url: string;
  addOperator(name: string, role: Role): Promise<string>;
  addAccount(name: string, plan: PlanName, quota?: Quota): Promise<Tenant>;
  /** A page of a browser that nobody has signed in with. */
  openPage(options?: BrowserContextOptions): Promise<Page>;
  /** A page of somebody signed in, at `#/…`. */
  signedIn(token: string, place?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Closes all pages; what they did that no page may: fail in a script, break the policy, ask another origin, open an alert. */
  closePages(): Promise<readonly string[]>;
}

export async function startConsole(settings: Readonly<Record<string, string>> = {}): Promise<TestConsole> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `sqlite:${join(folder.path, 'store.db')}`,
    BACKUP_FOLDER: join(folder.path, 'backups'),
    DRAIN_SECONDS: '0',
    ...settings,
  });
  const log = pino({ level: 'silent' });
  const app = started.use(await startApp(config, (listening) => openapiText(config, listening), log));
  const url = app.console?.url ?? '';
  const browser = await launch();
  started.defer(() => browser.close());
  const operators = new OperatorOperations(
    { store: app.admin.storage, clock: systemClock(), actor: { kind: 'cli', name: 'test' } },
    randomBytes,
  );
  const kept = started.move();
  const watch = new Watch(url);
  const openPage = async (options?: BrowserContextOptions) => watch.open(await browser.newContext(options));
  return {
    app,
    apiUrl: app.url,
    url,
    addOperator: async (name, role) => (await operators.create(name, role)).token,
    addAccount: async (name, plan, quota) => {
      const account = await app.admin.accounts.create(name, plan, quota);
      const { key, id: keyId } = await app.admin.keys.create(account.id, name, undefined, scopes);
      return { account, key, keyId };
    },
    openPage,
    signedIn: async (token, place = '/', options) => {
      const page = await openPage(options);
      const { request } = page.context();
      await request.post(`${url}/admin/v1/session`, { data: { token }, headers: { Origin: url } });
      await page.goto(`${url}/#${place}`);
      return page;
    },
    closePages: () => watch.close(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function launch(): Promise<Browser> {
  const path = Bun.which(browserCommand) ?? browserCommand;
  // Containers have neither the kernel's sandboxes nor much shared memory.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Opens pages, and remembers what they did that none may. */
class Watch {
  readonly #url: string;
  #contexts: BrowserContext[] = [];
  #problems: string[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async open(context: BrowserContext): Promise<Page> {
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(maxWaitMs);
    page.on('pageerror', ({ message }) => this.#problems.push(message));
    page.on('console', (message) => {
      // The browser's own note of an answer 4xx, which is for the console to deal with.
      const isAnswer = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isAnswer) this.#problems.push(message.text());
    });
    page.on('request', (request) => this.#check(new URL(request.url())));
    page.on('dialog', (dialog) => {
      this.#problems.push(`opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    return page;
  }

  async close(): Promise<readonly string[]> {
    const [contexts, problems] = [this.#contexts, this.#problems];
    this.#contexts = [];
    this.#problems = [];
    await Promise.all(contexts.map((context) => context.close()));
    return problems;
  }

  #check({ origin, protocol, href }: URL): void {
    if (origin !== this.#url && protocol !== 'data:' && protocol !== 'blob:')
      this.#problems.push(`asked ${href}`);
  }
}
