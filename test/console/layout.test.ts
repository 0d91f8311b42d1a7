/** The layout of pages: the menu, filters, placeholders and cards. */
import { describe, expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

const isInView = (page: Page, selector: string) =>
  page.evaluate<boolean>(`(() => {
    const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  })()`);

describe('the menu', () => {
  for (const [width, height] of [
    [1_280, 800],
    [1_280, 600],
    [390, 667],
  ] as const) {
    testInBrowser(`shows the theme and "Sign out" without scrolling at ${width} × ${height}`, async () => {
      const { signedIn, addOperator } = await given();
      const token = await addOperator(`mia-${width}-${height}`, 'viewer');
      const page = await signedIn(token, '/', { viewport: { width, height } });
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      if (width < 960) await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      expect(await isInView(page, '.who')).toBe(true);
      expect(await isInView(page, '.side nav a')).toBe(true);
    });
  }
});

testInBrowser('no filter is alone in a row or overlaps another', async () => {
  const { signedIn, addOperator, url } = await given();
  const page = await signedIn(await addOperator('finn', 'viewer'));
  const wrong: string[] = [];
  for (const place of ['accounts', 'animals', 'orders', 'audit', 'webhooks']) {
    await page.goto(`${url}/#/${place}`);
    await page.locator(`.filters`).waitFor();
    await page.locator('.waiting').first().waitFor({ state: 'detached' });
    for (const width of [360, 768, 1_024, 1_280, 1_440, 2_560]) {
      await page.setViewportSize({ width, height: 800 });
      const problem = await page.evaluate<string>(`(() => {
        const boxes = [...document.querySelectorAll('.filter')].map((one) => one.getBoundingClientRect());
        const whole = document.querySelector('.filters').getBoundingClientRect();
        const rows = Map.groupBy(boxes, ({ top }) => Math.round(top));
        const alone = [...rows.values()].filter((row) => row.length === 1 && row[0].width < whole.width - 1);
        const fields = [...document.querySelectorAll('.filter input, .filter select')];
        const isWide = (field) => field.getBoundingClientRect().right > field.parentElement.getBoundingClientRect().right + 1;
        return [alone.length > 0 && 'alone', fields.some(isWide) && 'overlaps'].filter(Boolean).join();
      })()`);
      if (problem !== '') wrong.push(`${place}, ${width}: ${problem}`);
    }
  }
  expect(wrong).toEqual([]);
});

testInBrowser('settings can be filtered by name, description and source', async () => {
  const { signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('sila', 'viewer'), '/system');
  const row = (name: RegExp) => page.getByRole('row', { name });
  await row(/^PORT /).waitFor();
  await page.getByLabel('Setting', { exact: true }).fill('backup_f');
  await row(/^PORT /).waitFor({ state: 'detached' });
  await row(/^BACKUP_FOLDER /).waitFor();
  await page.getByLabel('Source').selectOption('Default');
  await row(/^BACKUP_FOLDER /).waitFor({ state: 'detached' });
  await page.getByLabel('Setting', { exact: true }).fill('no such setting');
  await page.getByText('No settings match these filters.').waitFor();
});

testInBrowser('placeholders are visible against the page and against cards, in both themes', async () => {
  const { signedIn, addOperator } = await given();
  const token = await addOperator('pola', 'viewer');
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await signedIn(token, '/', { colorScheme });
    const contrasts = await page.evaluate<number[]>(`(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const luminance = (property) => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = 'var(' + property + ')';
        canvas.fillStyle = getComputedStyle(probe).color;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) =>
          value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const skeleton = document.createElement('div');
      skeleton.className = 'waiting';
      const line = document.body.appendChild(skeleton).appendChild(document.createElement('i'));
      document.body.style.setProperty('--drawn', getComputedStyle(line).backgroundColor);
      return ['--canvas', '--paper'].map((behind) => {
        const [one, other] = [luminance('--drawn'), luminance(behind)];
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      });
    })()`);
    for (const contrast of contrasts) expect(contrast).toBeGreaterThan(1.2);
  }
});

testInBrowser('a page opened while the service is unreachable says that its data is not loaded', async () => {
  const { signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('olli', 'viewer'), '/bans');
  await page.getByText('No keys are banned.').waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Orders' }).click();
  await page.getByText('Not loaded yet.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('There are no orders yet.').waitFor();
  expect(await page.getByText('Not loaded yet.').count()).toBe(0);
});

testInBrowser('an empty card next to a long one keeps its height', async () => {
  const { signedIn, addOperator, addAccount } = await given();
  const { account } = await addAccount('Quiet', 'free');
  const page = await signedIn(await addOperator('emma', 'viewer'), `/accounts/${account.id}`);
  const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Requests' }) });
  await card.getByText('No requests in this period.').waitFor();
  await page.locator('.waiting').first().waitFor({ state: 'detached' });
  const below = await page.evaluate<number>(`(() => {
    const empty = document.querySelector('.columns .empty');
    return empty.parentElement.getBoundingClientRect().bottom - empty.getBoundingClientRect().bottom;
  })()`);
  expect(below).toBeLessThan(40);
});
