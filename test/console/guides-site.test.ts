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
  });

  testInBrowser('reports that it found nothing, and that it is unavailable', async () => {
    const page = await open('/docs/errors/pet_reserved');
    await page.route('**/search.json*', (route) => route.fulfill({ status: 429 }), { times: 1 });
    await page.getByRole('searchbox').fill('nothing like this');
    await page.getByText('Search is unavailable.').waitFor();
    await page.getByRole('searchbox').fill('nothing like that');
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
