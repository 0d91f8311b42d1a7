/** Every page: for people who do not see or point, in both themes, on small screens, and with names that are meant to harm. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { TestConsole } from '../support/console.ts';
import { testTimeoutMs, until } from '../support/wait.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

setDefaultTimeout(testTimeoutMs);

const given = consoleOfTests({
  BAN_STRIKES: '3',
  BAN_FIRST_SECONDS: '3600',
  INSTANCE_NAME: 'unbroken'.repeat(8),
});

const axe = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text();

/** Runs script where it stands in a page as HTML, and asks where it stands as an address. */
const harmful = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&`;

interface Stocked {
  readonly console: TestConsole;
  readonly token: string;
  /** Each page of the console, with something on it, by what its heading says. */
  readonly places: ReadonlyMap<string, string>;
}

let stocked: Promise<Stocked> | undefined;

function stock(): Promise<Stocked> {
  stocked ??= makeStock();
  return stocked;
}

/** A store in which all that has a name has a harmful one. */
async function makeStock(): Promise<Stocked> {
  const console = await given();
  const token = await console.addOperator(harmful, 'admin');
  const { account, key } = await console.addAccount(harmful, 'enterprise', { perMinute: 1, perDay: 1_000 });
  const { key: shopKey } = await console.addAccount('shop', 'business');
  const send = (bearer: string, method: string, path: string, body?: unknown) =>
    fetch(`${console.apiUrl}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  await send(shopKey, 'PUT', '/categories/1', { name: harmful });
  await send(shopKey, 'POST', '/pets', { name: harmful, categoryId: 1 });
  await send(shopKey, 'POST', '/orders', { petId: 1, reference: harmful });
  await send(shopKey, 'GET', '/pets/1');
  await until(async () => (await (await send(key, 'GET', '/pets')).text()).includes('api_key_banned'));
  // Usage is written every ten seconds.
  const callers = `${console.url}/admin/v1/usage/callers`;
  await until(async () => {
    const answer = await fetch(callers, { headers: { Authorization: `Bearer ${token}` } });
    return (await answer.text()).includes('"keyId"');
  });
  return {
    console,
    token,
    places: new Map([
      ['Overview', '/'],
      ['Accounts', '/accounts'],
      [harmful, `/accounts/${account.id}`],
      ['Animals', '/animals'],
      ['Import animals', '/animals/import'],
      ['Categories', '/categories'],
      ['Orders', '/orders'],
      ['Bans', '/bans'],
      ['Usage', '/usage'],
      ['Audit log', '/audit'],
      ['Operators', '/operators'],
      ['System', '/system'],
      ['Page not found', '/nowhere'],
    ]),
  };
}

/** Goes to each page, and waits until all of it is there. */
async function* visited(page: Page, { console, places }: Stocked): AsyncGenerator<string> {
  for (const [heading, place] of places) {
    await page.goto(`${console.url}/#${place}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('.waiting').first().waitFor({ state: 'detached' });
    yield heading;
  }
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

async function violationsOn(page: Page): Promise<string[]> {
  // Not as an element, for the policy of the pages would refuse it.
  await page.evaluate(`if (!('axe' in window)) { ${axe} }`);
  const results = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  testInBrowser('every page can be used by everybody: axe finds nothing', async () => {
    const all = await stock();
    const page = await all.console.signedIn(all.token, '/', { colorScheme });
    const violations: string[] = [];
    for await (const heading of visited(page, all)) {
      violations.push(...(await violationsOn(page)).map((violation) => `${heading}: ${violation}`));
    }
    expect(violations).toEqual([]);
  });

  testInBrowser('so can the sign-in, the menu and the dialogs', async () => {
    const { console, token } = await stock();
    const visitor = await console.openPage({ colorScheme });
    await visitor.goto(console.url);
    await visitor.getByText('Where do I get a token?').click();
    const page = await console.signedIn(token, '/accounts/2', {
      colorScheme,
      viewport: { width: 390, height: 844 },
    });
    const violations = await violationsOn(visitor);
    await page.getByRole('button', { name: 'Menu' }).click();
    violations.push(...(await violationsOn(page)));
    await page.getByRole('button', { name: 'Close menu' }).click();
    for (const dialog of ['Issue key', 'Change plan', 'Close account']) {
      await page.getByRole('button', { name: dialog }).first().click();
      await page.getByRole('dialog').waitFor();
      violations.push(...(await violationsOn(page)));
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    expect(violations).toEqual([]);
  });
});

testInBrowser('harmful names are shown as they are, on every page', async () => {
  const all = await stock();
  const page = await all.console.signedIn(all.token);
  const shownOn: string[] = [];
  for await (const heading of visited(page, all)) {
    if ((await page.locator('main').innerText()).includes(harmful)) shownOn.push(heading);
    expect(await page.locator('main img, main script, #console script').count()).toBe(0);
  }
  expect(shownOn).toEqual([
    'Accounts',
    harmful,
    'Animals',
    'Categories',
    'Orders',
    'Bans',
    'Usage',
    'Audit log',
    'Operators',
  ]);
});

testInBrowser.each([360, 768, 1_280, 2_560])('nothing is wider than a screen of %d pixels', async (width) => {
  const all = await stock();
  const page = await all.console.signedIn(all.token, '/', { viewport: { width, height: 800 } });
  const wide: string[] = [];
  for await (const heading of visited(page, all)) {
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    if (over > 0) wide.push(`${heading}: ${over} px`);
  }
  expect(wide).toEqual([]);
});

testInBrowser('a lost connection shows, and heals by itself', async () => {
  const { console, token } = await stock();
  const page = await console.signedIn(token);
  await page.getByText('Live').waitFor();
  await page.context().setOffline(true);
  await page.getByText('The service cannot be reached.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
  await page.getByText('Live').waitFor();
});

test('the first view is less than 150 kB, compressed', async () => {
  const { url } = await given();
  const html = await (await fetch(url)).text();
  const paths = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  const sizes = paths.map(async (path) => {
    const headers = { 'Accept-Encoding': 'gzip' };
    return (await (await fetch(url + path, { headers, decompress: false })).arrayBuffer()).byteLength;
  });
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(30_000);
  expect(bytes).toBeLessThan(150_000);
});
