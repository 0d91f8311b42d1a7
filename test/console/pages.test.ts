/** Tests of every page: accessibility, both themes, screen sizes and harmful names. */
import { describe, expect, test } from 'bun:test';
import { quoteName } from '../../console/text.ts';
import { themes, violationsOn } from '../support/accessibility.ts';
import type { TestConsole } from '../support/console.ts';
import { newReport } from '../support/usage.ts';
import { until } from '../support/wait.ts';
import { addDeliveries, addWebhook, failedDelivery, pendingDelivery } from '../support/webhooks.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests({
  BAN_STRIKES: '3',
  BAN_FIRST_SECONDS: '3600',
  INSTANCE_NAME: 'unbroken'.repeat(8),
});

/**
 * A name that runs a script and sends a request if it is inserted as HTML, and that reverses the text after it.
 */
const harmful = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&\u202egnp.\u2066\u200b\u2028`;
const shownHarmful = quoteName(harmful);

interface Stocked {
  readonly console: TestConsole;
  readonly token: string;
  /** Path of each console page, by heading. */
  readonly places: ReadonlyMap<string, string>;
}

let stocked: Promise<Stocked> | undefined;

function stock(): Promise<Stocked> {
  stocked ??= makeStock();
  return stocked;
}

/** A store in which every name contains a harmful string. */
async function makeStock(): Promise<Stocked> {
  const console = await given();
  const token = await console.addOperator(harmful, 'admin');
  const { account, key, keyId } = await console.addAccount(harmful, 'enterprise', {
    perMinute: 1,
    perDay: 1_000,
  });
  const { key: shopKey, keyId: shopKeyId } = await console.addAccount('shop', 'business');
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
  await recordUsage(console, { keyId, accountId: account.id });
  const [url, disabledReason] = [`sqlite:${console.storePath}`, harmful];
  const broken = { enabled: false, disabledReason, description: harmful };
  await addWebhook(url, { accountId: account.id, ...broken });
  await addDeliveries(url, [failedDelivery(1n, 1n, Date.now()), pendingDelivery(1n, 2n, Date.now())]);
  return {
    console,
    token,
    places: new Map([
      ['Overview', '/'],
      ['Accounts', '/accounts'],
      ['shop', `/keys/${shopKeyId}`],
      [shownHarmful, `/accounts/${account.id}`],
      ['Animals', '/animals'],
      ['Import animals', '/animals/import'],
      ['Categories', '/categories'],
      ['Orders', '/orders'],
      ['Events', '/events'],
      ['Webhooks', '/webhooks'],
      ['Webhook 1', '/webhooks/1'],
      ['Bans', '/bans'],
      ['Usage', '/usage'],
      ['Audit log', '/audit'],
      ['Operators', '/operators'],
      ['System', '/system'],
      ['Page not found', '/nowhere'],
      ['Page not found', '/valueOf'],
    ]),
  };
}

/**
 * Records that the key called a deprecated operation, and that an instance with a harmful name has disappeared, which
 * is shown as a problem.
 */
async function recordUsage({ app }: TestConsole, owner: { keyId: number; accountId: number }): Promise<void> {
  const now = Date.now();
  const hour = now - (now % 3_600_000);
  const counts = { ok: 1, refused: 1, limited: 1, failed: 1, deprecated: 1 };
  const instance = { name: harmful, version: '0.0.0', startedAt: hour, seenAt: now - 120_000 };
  const keys = [{ ...owner, ...counts, hour, lastUsedAt: now, operations: [] }];
  await app.admin.storage.write('recordUsage', {
    minutes: [],
    latencies: [],
    keys,
    number: newReport(now),
    instance,
  });
}

const widths = [360, 768, 1_280, 2_560];

/** Results of the checks on all pages. */
interface Tour {
  /** Violations reported by axe, in both themes. */
  readonly violations: string[];
  /** Elements wider than the screen. */
  readonly wide: string[];
  /** Pages that show the harmful name as text. */
  readonly named: string[];
  /** Pages on which a name created an element, or changed the order or line breaks of adjacent text. */
  readonly harm: string[];
}

let tour: Promise<Tour> | undefined;

function toured(): Promise<Tour> {
  tour ??= makeTour();
  return tour;
}

/** Opens each page, waits until it has loaded, and runs all checks. */
async function makeTour(): Promise<Tour> {
  const { console, token, places } = await stock();
  const page = await console.signedIn(token);
  const seen: Tour = { violations: [], wide: [], named: [], harm: [] };
  for (const [heading, place] of places) {
    await page.goto(`${console.url}/#${place}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('.waiting').first().waitFor({ state: 'detached' });
    await page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true");
    const text = await page.locator('main').innerText();
    if (text.includes(shownHarmful)) seen.named.push(heading);
    const elements = await page.locator('main img, main script, #console script').count();
    if (elements > 0 || /[\u202e\u2066\u200b\u2028]/.test(text)) seen.harm.push(heading);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (over > 0) seen.wide.push(`${heading}, ${width}: ${over} px`);
    }
    await page.setViewportSize({ width: 1_280, height: 800 });
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme });
      for (const violation of await violationsOn(page, colorScheme))
        seen.violations.push(`${heading}, ${colorScheme}: ${violation}`);
    }
  }
  return seen;
}

describe('every page of the console', () => {
  testInBrowser('has no accessibility violations in either theme, according to axe', async () => {
    expect((await toured()).violations).toEqual([]);
  });

  testInBrowser('fits screens from 360 to 2,560 pixels', async () => {
    expect((await toured()).wide).toEqual([]);
  });

  testInBrowser('shows harmful names as text that has no effect', async () => {
    const { named: shownOn, harm } = await toured();
    expect(harm).toEqual([]);
    expect(shownOn).toEqual([
      'Overview',
      'Accounts',
      shownHarmful,
      'Animals',
      'Categories',
      'Orders',
      'Events',
      'Webhooks',
      'Webhook 1',
      'Bans',
      'Usage',
      'Audit log',
      'Operators',
      'System',
    ]);
  });
});

describe.each(themes)('in the %s theme', (colorScheme) => {
  testInBrowser('the sign-in page, the menu and the dialogs have no accessibility violations', async () => {
    const { console, token } = await stock();
    const visitor = await console.openPage({ colorScheme });
    await visitor.goto(console.url);
    await visitor.getByText('Where do I get a token?').click();
    const page = await console.signedIn(token, '/accounts/2', {
      colorScheme,
      viewport: { width: 390, height: 844 },
    });
    const violations = await violationsOn(visitor, colorScheme);
    await page.getByRole('button', { name: 'Menu' }).click();
    violations.push(...(await violationsOn(page, colorScheme)));
    await page.getByRole('button', { name: 'Close menu' }).click();
    for (const dialog of ['Search', 'Issue key', 'Change plan', 'Close account']) {
      await page.getByRole('button', { name: dialog }).first().click();
      await page.getByRole('dialog').waitFor();
      violations.push(...(await violationsOn(page, colorScheme)));
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    expect(violations).toEqual([]);
  });
});

testInBrowser('the console reports a lost connection, and reconnects automatically', async () => {
  const { console, token } = await stock();
  const page = await console.signedIn(token);
  await page.getByText('Live').waitFor();
  await page.context().setOffline(true);
  await page.getByText('The service is unreachable.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('The service is unreachable.').waitFor({ state: 'detached' });
  await page.getByText('Live').waitFor();
});

test('the first view loads less than 120 kB, compressed', async () => {
  const { url } = await given();
  const html = await (await fetch(url)).text();
  const paths = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
  const sizes = paths.map(async (path) => {
    const headers = { 'Accept-Encoding': 'gzip' };
    return (await (await fetch(url + path, { headers, decompress: false })).arrayBuffer()).byteLength;
  });
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(30_000);
  expect(bytes).toBeLessThan(120_000);
});
