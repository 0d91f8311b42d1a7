/** A real browser that records the script errors and policy violations of its pages. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { maxWaitMs } from './wait.ts';

/** Name of the browser's command on Debian. */
export const browserCommand = 'chromium';

export interface TestPages {
  /** Opens a page without a session. */
  openPage(options?: BrowserContextOptions): Promise<Page>;
  /** Opens a page at `#/…`, signed in with the token. */
  signedIn(token: string, place?: string, options?: BrowserContextOptions): Promise<Page>;
  /**
   * Closes all pages and returns the recorded violations: script errors, violations of the content security policy,
   * requests to other origins, and dialogs.
   */
  closePages(): Promise<readonly string[]>;
}

/** Opens pages of the console at this address. */
export function pagesOf(browser: TestBrowser, url: string): TestPages {
  const watch = new Watch(url);
  const openPage = async (options?: BrowserContextOptions) =>
    watch.open(await (await browser.launched()).newContext(options));
  return {
    openPage,
    signedIn: async (token, place = '/', options) => {
      const page = await openPage(options);
      const signIn = { data: { token }, headers: { Origin: url } };
      const answer = await page.context().request.post(`${url}/admin/v1/session`, signIn);
      const { secret } = (await answer.json()) as { secret: string };
      // Any page of the same origin can store the session.
      await page.goto(`${url}/admin/v1/session`);
      await page.evaluate((kept) => sessionStorage.setItem('animal-store-session-secret', kept), secret);
      await page.goto(`${url}/#${place}`);
      return page;
    },
    closePages: () => watch.close(),
  };
}

/**
 * The process that the browser starts in advance for the next page accounts for a quarter of the CPU time of a page. The other
 * features are those that Playwright disables to keep pages predictable, which this option replaces.
 */
const withoutFeatures = [
  'SpareRendererForSitePerProcess',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'OptimizationHints',
  'PaintHolding',
];

/** A browser that is launched on first use. */
export class TestBrowser implements AsyncDisposable {
  readonly #hosts: readonly string[];
  #launched: Promise<Browser> | undefined;

  /** `hosts` are host names that the browser resolves to this machine. */
  constructor(hosts: readonly string[] = []) {
    this.#hosts = hosts;
  }

  launched(): Promise<Browser> {
    const rules = this.#hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',');
    this.#launched ??= chromium.launch({
      executablePath: Bun.which(browserCommand) ?? browserCommand,
      // Containers lack the kernel features that the browser's sandbox needs, and have little shared memory.
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        `--disable-features=${withoutFeatures}`,
        `--host-resolver-rules=${rules}`,
      ],
    });
    return this.#launched;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#launched)?.close();
  }
}

/** Opens pages and records violations. */
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
      // The browser logs this message for 4xx responses, which the console handles.
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
      this.#problems.push(`requested ${href}`);
  }
}
