/** Past requests in the console: on the overview, on key pages, and on the Usage page. */
import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { isolatedIndices } from '../../console/parts/isolated-indices.ts';
import { formatTimeOrDate } from '../../console/time-labels.ts';
import { findLatencyBucket } from '../../src/domain/latency.ts';
import type { TestConsole } from '../support/console.ts';
import { newReport } from '../support/usage.ts';
import { until } from '../support/wait.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();
/** Separate consoles for tests that check the total number of requests. */
const givenApart = consoleOfTests();
const givenAlone = consoleOfTests();

const hourMs = 3_600_000;

/** Records requests from three hours ago, with their latencies. */
async function recordPast({ app }: TestConsole): Promise<void> {
  const minute = Math.floor((Date.now() - 3 * hourMs) / hourMs) * hourMs;
  await app.admin.storage.write('recordUsage', {
    minutes: [
      { minute, operation: 'listPets', code: 'ok', requests: 1_234 },
      { minute, operation: 'listOrders', code: 'ok', requests: 55 },
      { minute, operation: 'placeOrder', code: 'pet_not_available', requests: 17 },
    ],
    latencies: [{ minute, bucket: findLatencyBucket(40), requests: 1_306 }],
    keys: [],
    number: newReport(minute),
    instance: { name: 'earlier', version: '1.0.0', startedAt: minute, seenAt: 0 },
  });
}

const legend = (page: Page, title: string) =>
  page
    .locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })
    .locator('figcaption');

/** A script that returns the color of a legend entry with this style. */
const colourOf = (style: string) => `(() => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.cssText = ${JSON.stringify(style)};
  const colour = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return colour;
})()`;

testInBrowser('the overview shows requests and latency from before the service started', async () => {
  const console = await givenApart();
  await recordPast(console);
  const page = await console.signedIn(await console.addOperator('hugo', 'viewer'));
  await page.getByRole('radio', { name: '24 h' }).check();
  await legend(page, 'Requests').getByText('1,289').waitFor();
  await legend(page, 'Requests').getByText('17').waitFor();
  await page.getByText('1,306 in the last 24 hours').waitFor();
  expect(await page.getByText('Live', { exact: true }).count()).toBe(0);
  await page.reload();
  await page.getByText('Last 24 hours', { exact: true }).waitFor();
  await legend(page, 'Requests').getByText('1,289').waitFor();
  await page.getByRole('radio', { name: '1 h' }).check();
  await page.getByText('0 in the last hour').waitFor();
});

testInBrowser('the current minute is included in the total, but is not drawn as a drop', async () => {
  const console = await givenAlone();
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  await console.app.admin.storage.write('recordUsage', {
    minutes: [{ minute, operation: 'listPets', code: 'ok', requests: 321 }],
    ...{ latencies: [], keys: [], number: newReport(minute) },
    instance: { name: 'earlier', version: '1.0.0', startedAt: minute, seenAt: 0 },
  });
  const page = await console.signedIn(await console.addOperator('mina', 'viewer'), '/?span=hour');
  await legend(page, 'Requests').getByText('321').waitFor();
  const points = page.getByRole('slider', { name: 'Requests, last hour' });
  expect(Number(await points.getAttribute('max'))).toBeLessThan(59);
});

testInBrowser('the time axis of every range has at least three labels, even on a phone', async () => {
  const console = await given();
  const token = await console.addOperator('axel', 'viewer');
  for (const width of [390, 1_280]) {
    const page = await console.signedIn(token, '/usage', { viewport: { width, height: 800 } });
    await page.addInitScript(`{
      const { fillText } = CanvasRenderingContext2D.prototype;
      globalThis.drawn = new Set();
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        globalThis.drawn.add(text);
        return fillText.call(this, text, ...place);
      };
    }`);
    for (const [span, label] of [
      ['hour', /^\d\d:\d\d$/],
      ['day', /:|[A-Z]/],
      ['week', /[A-Z]/],
      ['month', /[A-Z]/],
    ] as const) {
      await page.goto(`${console.url}/#/?span=${span}`);
      await page.reload();
      await legend(page, 'Latency').waitFor();
      const labels = async () =>
        (await page.evaluate<string[]>('[...drawn]')).filter((text) => label.test(text));
      await until(async () => (await labels()).length >= 3);
    }
  }
});

testInBrowser(
  'the plots of a page share one cursor, which the keyboard and the pointer can move',
  async () => {
    const console = await given();
    const page = await console.signedIn(await console.addOperator('sync', 'viewer'), '/?span=day');
    const times = async () => page.locator('.legend .at').allInnerTexts();
    await legend(page, 'Latency').waitFor();
    await page.getByRole('slider', { name: 'Requests, last 24 hours' }).focus();
    await page.keyboard.press('ArrowLeft');
    await until(async () => {
      const [requests = '', latency] = await times();
      return requests !== '' && requests === latency;
    });
    const [byKeyboard] = await times();
    await page.locator('.u-over').nth(1).hover();
    await until(async () => {
      const [requests = '', latency] = await times();
      return requests !== byKeyboard && requests !== '' && requests === latency;
    });
  },
);

testInBrowser(
  'a key page shows scopes, failed requests, and links to the previous and next key of a rotation',
  async () => {
    const console = await given();
    const { app, apiUrl } = console;
    const { account, key, keyId } = await console.addAccount('kiosk', 'free');
    const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'kiosk-request-1' };
    expect((await fetch(`${apiUrl}/v1/pets/424242`, { headers })).status).toBe(404);
    await app.watch.recordUsage();
    const successor = await app.admin.keys.rotate(keyId, 86_400_000);
    const page = await console.signedIn(
      await console.addOperator('kim', 'viewer'),
      `/accounts/${account.id}`,
    );
    await page
      .getByRole('row', { name: `Key ${keyId},` })
      .getByRole('link', { name: 'kiosk' })
      .click();
    await page.getByText(`Key ${keyId}, ends in`).waitFor();
    await page.getByText('webhooks:write', { exact: true }).waitFor();
    await page.getByText('Free plan').waitFor();
    const failed = page.getByRole('table', { name: 'Recent failed requests' }).getByRole('row').nth(1);
    expect((await failed.innerText()).split(/\s+/)).toEqual(
      expect.arrayContaining(['404', 'pet_not_found', 'getPet', 'kiosk-request-1']),
    );
    await page.getByRole('slider', { name: 'Requests by operation' }).waitFor();
    await page.getByText('Client errors (4xx) 1').waitFor();
    // The color of an operation must not suggest an outcome.
    const colours = async (title: string) => {
      const styles = (await legend(page, title).locator('i').all()).map((one) => one.getAttribute('style'));
      return Promise.all(styles.map(async (style) => page.evaluate<string>(colourOf((await style) ?? ''))));
    };
    const ofOutcomes = await colours('Requests');
    expect(ofOutcomes).toHaveLength(4);
    expect((await colours('Requests by operation')).filter((one) => ofOutcomes.includes(one))).toEqual([]);
    await page
      .getByRole('link', { name: `key ${successor.id}` })
      .first()
      .click();
    await page.getByText(`Key ${successor.id}, ends in`).waitFor();
    await page.getByText('No recent failed requests.').waitFor();
    await page
      .getByRole('link', { name: `key ${keyId}` })
      .first()
      .click();
    await page.getByText(`Key ${keyId}, ends in`).waitFor();
  },
);

testInBrowser(
  'the Usage page can filter error codes by operation, and operations by error code',
  async () => {
    const console = await given();
    await recordPast(console);
    const page = await console.signedIn(await console.addOperator('ute', 'viewer'), '/usage');
    const names = async (label: string) =>
      page.getByRole('table', { name: label }).locator('code.name').allInnerTexts();
    await page.getByRole('link', { name: 'placeOrder' }).click();
    await page.getByText('placeOrder · ').waitFor();
    expect(await names('Requests by error code')).toEqual(['pet_not_available']);
    await page.getByRole('link', { name: 'All operations' }).click();
    await page.getByRole('link', { name: 'pet_not_available' }).click();
    await page.getByText('Responded with pet_not_available').waitFor();
    expect(await names('Requests by operation')).toEqual(['placeOrder']);
  },
);

testInBrowser('the System page does not report an unreachable service as healthy', async () => {
  const { signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('lou', 'viewer'), '/system');
  const info = page.getByRole('list', { name: 'Notes' });
  await info.getByText('No backups are scheduled').waitFor();
  await page.context().setOffline(true);
  await page.getByText('The service is unreachable.').waitFor();
  await info.waitFor({ state: 'detached' });
  expect(await page.getByText('Everything is working.').count()).toBe(0);
  await page.context().setOffline(false);
  await info.waitFor();
});

test('a plot draws isolated values as dots, and shows the date where a day begins', () => {
  expect(isolatedIndices([3, null, 4, 5, null, undefined, 6])).toEqual([0, 6]);
  expect(isolatedIndices([null, 1])).toEqual([1]);
  const noon = new Date(2026, 10, 22, 12).getTime() / 1_000;
  expect(formatTimeOrDate(noon, undefined)).toBe('12:00');
  expect(formatTimeOrDate(noon, noon - 6 * 3_600)).toBe('12:00');
  expect(formatTimeOrDate(noon + 12 * 3_600, noon)).toBe('Nov 23');
});
