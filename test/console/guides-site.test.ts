/** The pages of the guides in a browser, on a desktop and a phone. */
import { afterAll, afterEach, describe, expect } from 'bun:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { themes, violationsOn } from '../support/accessibility.ts';
import { startTestApp } from '../support/app.ts';
import { pagesOf, TestBrowser } from '../support/browser.ts';
import { focused, testInBrowser } from './given.ts';

const app = await startTestApp({ PUBLIC_REQUESTS_PER_MINUTE: '100000' });
/** The address of the service on an insecure origin. */
const insecureUrl = app.url.replace('127.0.0.1', 'animals.test');
const browser = new TestBrowser(['animals.test']);
const { openPage, closePages } = pagesOf(browser, app.url);
const insecure = pagesOf(browser, insecureUrl);
afterEach(async () => {
  expect([...(await closePages()), ...(await insecure.closePages())]).toEqual([]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const desktop = { width: 1_280, height: 800 };
const phone = { width: 390, height: 844 };

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage({ viewport: desktop, ...options });
  await page.goto(app.url + path);
  return page;
}

const backgroundOf = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
const isInView = (page: Page, id: string) =>
  page.evaluate<boolean>(`(() => {
    const { top } = document.getElementById(${JSON.stringify(id)}).getBoundingClientRect();
    return top >= 0 && top < innerHeight;
  })()`);

describe('a page on a desktop', () => {
  testInBrowser('shows the list of guides and its sections beside the text', async () => {
    const page = await open('/docs/guides/webhooks');
    const guides = page.getByRole('navigation', { name: 'Guides' });
    expect(await guides.getByRole('link', { name: 'Webhooks' }).getAttribute('aria-current')).toBe('page');
    const contents = page.getByRole('navigation', { name: 'On this page' });
    expect(await contents.getByRole('link').allInnerTexts()).toEqual(
      await page.locator('main h2').allInnerTexts(),
    );
    await contents.getByRole('link', { name: 'Sending again' }).click();
    await page.waitForURL(/#sending-again$/);
    expect(await isInView(page, 'sending-again')).toBe(true);
    await guides.getByRole('link', { name: 'Error codes' }).click();
    await page.getByRole('heading', { level: 1, name: 'Error codes' }).waitFor();
  });
});

describe('the lists of sections', () => {
  const marked = (page: Page) => page.locator('nav.contents [aria-current=location]');

  testInBrowser(
    'mark the section that the address refers to, although it is too short to reach the top',
    async () => {
      const viewport = { width: 1_280, height: 1_200 };
      const page = await open('/docs/guides/webhooks#sending-again', { viewport });
      await marked(page).filter({ hasText: 'Sending again' }).waitFor();
      expect(await page.locator('.contents [aria-current]').count()).toBe(2);
    },
  );

  testInBrowser('mark the section that the reader scrolls or navigates to', async () => {
    const page = await open('/docs/guides/webhooks#secrets');
    await marked(page).filter({ hasText: 'Secrets' }).waitFor();
    await page.locator('#deliveries').evaluate((heading) => heading.scrollIntoView());
    await marked(page).filter({ hasText: 'Deliveries' }).waitFor();
    await page.locator('nav.contents').getByRole('link', { name: 'Testing' }).click();
    await marked(page).filter({ hasText: 'Testing' }).waitFor();
    await page.locator('h1').evaluate((heading) => heading.scrollIntoView());
    await marked(page).waitFor({ state: 'detached' });
  });
});

describe('a page on a phone', () => {
  testInBrowser('opens the list of guides and its sections above the text, without a script', async () => {
    const page = await open('/docs/guides/webhooks', { viewport: phone, javaScriptEnabled: false });
    await page.locator('summary', { hasText: 'On this page' }).click();
    await page.locator('main').getByRole('link', { name: 'Testing' }).first().click();
    await page.waitForURL(/#testing$/);
    await page.getByText('All guides').click();
    await page.getByRole('link', { name: 'Pagination' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Pagination' }).waitFor();
    for (const control of [page.getByRole('search'), page.getByLabel('Theme'), page.getByText('Copy')])
      expect(await control.filter({ visible: true }).count()).toBe(0);
  });
});

testInBrowser('a copy button copies the text of its sample, with the address of the service', async () => {
  const page = await open('/docs/guides/quickstart', { permissions: ['clipboard-read', 'clipboard-write'] });
  const sample = page.locator('.code', { hasText: 'export API=' });
  await sample.getByRole('button', { name: 'Copy' }).click();
  await sample.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(
    `export API=${app.url}/v1\nexport KEY=ask_your_api_key`,
  );
});

testInBrowser('a copy button works without TLS, where browsers have no clipboard API', async () => {
  const page = await insecure.openPage();
  await page.goto(`${insecureUrl}/docs/guides/quickstart`);
  const sample = page.locator('.code', { hasText: 'npm install' });
  await sample.getByRole('button', { name: 'Copy' }).click();
  await sample.getByRole('button', { name: 'Copied' }).waitFor();
  await page.getByRole('searchbox').press('Control+v');
  expect(await page.getByRole('searchbox').inputValue()).toMatch(/^npm install .*\.tgz$/);
});

testInBrowser(
  'the theme follows the system until one is selected, which the reference page also uses',
  async () => {
    const page = await open('/docs/guides', { colorScheme: 'dark' });
    const dark = await backgroundOf(page);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await backgroundOf(page);
    expect(light).not.toBe(dark);
    await page.getByLabel('Theme').selectOption('Dark');
    expect(await backgroundOf(page)).toBe(dark);
    await page.reload();
    expect([await backgroundOf(page), await page.getByLabel('Theme').inputValue()]).toEqual([dark, 'dark']);
    await page.getByRole('link', { name: 'Reference' }).click();
    await page.locator('body.dark-mode').waitFor();
  },
);

interface Result {
  readonly title: string;
  readonly place: string;
  /** The matches are in brackets. */
  readonly excerpt: string;
  readonly path: string;
}

async function resultsOf(page: Page, query: string): Promise<Result[]> {
  const panel = page.locator('.results');
  await page.getByRole('searchbox').fill('');
  await panel.waitFor({ state: 'hidden' });
  await page.getByRole('searchbox').fill(query);
  await panel.waitFor();
  return panel.getByRole('link').evaluateAll(
    (links, origin) =>
      links.map((link) => {
        const textOf = (name: string) => link.querySelector(name)?.textContent ?? '';
        const span = link.querySelector('span');
        const excerpt = [...(span?.childNodes ?? [])].map(({ nodeName, textContent }) =>
          nodeName === 'MARK' ? `[${textContent}]` : textContent,
        );
        const path = String(link).replace(origin, '');
        return { title: textOf('b'), place: textOf('small'), excerpt: excerpt.join(''), path };
      }),
    app.url,
  );
}

/** Queries of a new client, the section with the answer, and the lowest rank that it may have. */
const firstQuestions = [
  ['signature', '/docs/guides/webhooks#receiving', 1],
  ['verify signature', '/docs/guides/webhooks#receiving', 1],
  ['webhook python', '/docs/guides/webhooks#receiving', 1],
  ['python', '/docs/guides/quickstart#python', 1],
  ['curl', '/docs/guides/quickstart#curl', 1],
  ['typescript', '/docs/guides/typescript-client', 1],
  ['install', '/docs/guides/typescript-client', 3],
  ['rotate key', '/docs/guides/api-keys#checklist', 1],
  ['how do I rotate a key?', '/docs/guides/api-keys#checklist', 1],
  ['rotate secret', '/docs/guides/webhooks#secrets', 3],
  ['scopes', '/docs/guides/api-keys#scopes', 3],
  ['pets:write', '/docs/guides/api-keys#scopes', 1],
  ['authentication', '/docs#description/authentication', 3],
  ['Idempotency-Key', '/docs/guides/errors-and-retries#retrying-safely', 1],
  ['idempotency key', '/docs/guides/errors-and-retries#retrying-safely', 3],
  ['Retry-After', '/docs/guides/rate-limits#backing-off', 3],
  ['429', '/docs/errors/rate_limit_exceeded', 1],
  ['503', '/docs/errors/service_unavailable', 1],
  ['rate limit', '/docs/guides/rate-limits', 1],
  ['quota', '/docs/guides/rate-limits', 3],
  ['X-RateLimit-Remaining', '/docs/guides/rate-limits#headers', 3],
  ['banned', '/docs/guides/rate-limits#avoiding-bans', 3],
  ['sunset', '/docs/guides/versioning#deprecations', 1],
  ['etag', '/docs/guides/conditional-requests#preventing-lost-updates', 3],
  ['next page', '/docs/guides/pagination', 1],
  ['CORS', '/docs/guides/requests-and-responses#calling-the-api-from-a-browser', 3],
  ['request id', '/docs/guides/requests-and-responses#request-ids', 1],
  ['test webhook', '/docs/guides/webhooks#testing', 3],
  ['exact copy', '/docs/guides/events#keeping-a-copy', 1],
  ['delete an animal', '/docs/guides/animals#deleting-an-animal', 3],
  ['GET /v1/pets', '/docs#tag/pets/GET/pets', 1],
  ['disabledReason', '/docs/guides/webhooks#registering', 1],
] as const;

describe('the search', () => {
  testInBrowser('finds sections, error codes and operations without a mouse', async () => {
    const page = await open('/docs/guides');
    const search = async (text: string) => {
      await page.getByRole('searchbox').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type(text);
    };
    await search('pet_re');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'pet_reserved' }).waitFor();

    await search('SEND again');
    await page.getByRole('link', { name: 'Sending again Webhooks' }).waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toStartWith('Send');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('search').getByRole('link').count()).toBe(0);

    await page.getByRole('searchbox').fill('sending again');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/guides\/webhooks#sending-again$/);
    expect(await isInView(page, 'sending-again')).toBe(true);

    await search('placeOrder');
    await page.getByRole('link', { name: 'Place an order POST /v1/orders' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs#tag\/orders\/POST\/orders$/);
    await page.locator('[id$="tag/orders/POST/orders"]').first().waitFor();
    const index = (await (await fetch(`${app.url}/docs/search.json`)).json()) as string[][];
    const anchors = index.flatMap(
      ([, , , target]) => /^\.\.\/docs#(description\/.*)/.exec(target ?? '')?.[1] ?? [],
    );
    expect(anchors).toContain('description/authentication');
    for (const anchor of anchors)
      await page.locator(`[id$="${anchor}"]`).first().waitFor({ state: 'attached' });
  });

  testInBrowser('answers the questions of the first hour', async () => {
    const page = await open('/docs/guides');
    const wrong: string[] = [];
    for (const [query, target, rank] of firstQuestions) {
      const found = (await resultsOf(page, query)).slice(0, rank);
      const paths = found.map(({ path }) => path);
      if (!paths.includes(target)) wrong.push(`${query}: ${paths.join(', ')}`);
    }
    expect(wrong).toEqual([]);
  });

  testInBrowser('finds all text, with titles before headings before text, and shows the match', async () => {
    const page = await open('/docs/errors/pet_reserved');
    const scopes = await resultsOf(page, 'scopes');
    expect(scopes.slice(0, 4).map(({ title }) => title)).toEqual([
      'insufficient_scope',
      'Scopes',
      'Scopes',
      'Events',
    ]);
    expect(scopes[3]?.excerpt).toContain('A key needs the [scope] events:read');

    const [hmac, ...others] = await resultsOf(page, 'HMAC base64');
    expect(hmac).toMatchObject({
      title: 'Receiving',
      place: 'Webhooks',
      path: '/docs/guides/webhooks#receiving',
    });
    expect(hmac?.excerpt).toMatch(/^…\s.* \[base64\], hashlib, \[hmac\], .*\s…$/);
    expect(others).toEqual([]);

    // Both words are on this page, but in different sections.
    expect(await resultsOf(page, 'HMAC redeliver')).toEqual([]);
    // Part of a word, because no word starts with it.
    expect((await resultsOf(page, 'potency')).length).toBeGreaterThan(0);
  });

  testInBrowser('finds words with other endings and separators', async () => {
    const page = await open('/docs/guides');
    const pathsOf = async (query: string) => (await resultsOf(page, query)).map(({ path }) => path);
    for (const [word, ...forms] of [
      ['rotate', 'rotates', 'rotating', 'rotation', 'rotated'],
      ['deliver', 'delivery', 'deliveries', 'delivered'],
      ['verify', 'verifies', 'verifying', 'verification'],
      ['sign', 'signing', 'signed', 'signs'],
      ['API-key', 'api-keys'],
      ['API keys', '"API key"?', 'what is an API key'],
    ] as const) {
      const expected = await pathsOf(word);
      expect([word, expected.length]).not.toEqual([word, 0]);
      for (const form of forms) expect([form, (await pathsOf(form)).sort()]).toEqual([form, expected.sort()]);
    }
    // Three letters do not stand for longer words.
    expect(await pathsOf('cors')).not.toContain('/docs/guides/errors-and-retries#what-to-retry');
  });

  testInBrowser('loads nothing until it is first used', async () => {
    const page = await openPage({ viewport: desktop });
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`${app.url}/docs/guides`, { waitUntil: 'networkidle' });
    expect(loaded).not.toContain('/docs/search.json');
    await page.getByRole('searchbox').fill('order');
    await page.getByRole('search').getByRole('link').first().waitFor();
    expect(loaded.slice(-2).sort()).toEqual(['/docs/search.js', '/docs/search.json']);
    expect(loaded.filter((path) => path.startsWith('/docs/search'))).toHaveLength(2);
  });

  testInBrowser('reports that it found nothing, and that it is unavailable', async () => {
    const page = await open('/docs/errors/pet_reserved');
    // The index is requested at the focus, and again at the input.
    await page.route('**/search.json*', (route) => route.fulfill({ status: 429 }));
    await page.getByRole('searchbox').fill('zebra');
    await page.getByText('Search is unavailable.').waitFor();
    await page.unroute('**/search.json*');
    await page.getByRole('searchbox').fill('zebras');
    await page.getByText('No results.').waitFor();
  });
});

testInBrowser('every page fits screens from 360 pixels', async () => {
  const page = await open('/docs/guides');
  const links = await page.locator('.side a').evaluateAll((all) => all.map(String));
  expect(links.length).toBeGreaterThan(15);
  const wide: string[] = [];
  for (const url of [...links, `${app.url}/docs/errors/status_transition_not_allowed`, `${app.url}/none`]) {
    await page.goto(url);
    for (const width of [360, 390, 820, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (over > 0) wide.push(`${url}, ${width}: ${over} px`);
    }
  }
  expect(wide).toEqual([]);
});

describe.each([
  ['desktop', desktop],
  ['phone', phone],
] as const)('on a %s', (_, viewport) => {
  testInBrowser('pages have no accessibility violations in either theme, according to axe', async () => {
    const violations: string[] = [];
    const page = await open('/docs/guides', { viewport });
    for (const path of ['/docs/guides/quickstart', '/docs/guides/webhooks', '/docs/errors', '/none']) {
      await page.goto(app.url + path);
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await page.getByRole('searchbox').fill('order');
      await page.getByRole('search').getByRole('link').first().waitFor();
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme });
        violations.push(...(await violationsOn(page, colorScheme)).map((found) => `${path}: ${found}`));
      }
    }
    expect(violations).toEqual([]);
  });
});

testInBrowser('links underline code below its underscores', async () => {
  const page = await open('/docs/errors');
  const offset = await page.evaluate<number>(`(() => {
    const style = getComputedStyle(document.querySelector('td a'));
    return parseFloat(style.textUnderlineOffset) / parseFloat(style.fontSize);
  })()`);
  expect(offset).toBeGreaterThan(0.25);
});
