/** The live list of events. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { consoleOfTests, focused, tabTo, testInBrowser } from './given.ts';

const given = consoleOfTests();

/** Opens the events page for a viewer, and returns it with a function that sends requests from a new account. */
async function opened(name: string, place = '/events') {
  const { apiUrl, signedIn, addOperator, addAccount } = await given();
  const { key } = await addAccount(name, 'business');
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${apiUrl}/v1${path}`, { method, headers, ...sent });
    return (await response.json()) as { id: number };
  };
  return { page: await signedIn(await addOperator(name, 'viewer'), place), send };
}

/** The first cell of each row, from top to bottom. */
const rowsOf = (page: Page) => page.locator('tbody tr td:first-child').allInnerTexts();
const live = (page: Page) => page.locator('h1 .live').waitFor();

testInBrowser('new events appear at the top, and events during a pause appear when it ends', async () => {
  const { page, send } = await opened('ann');
  await live(page);
  const first = await send('POST', '/pets', { name: 'Ozzy', categoryId: 1 });
  await page.getByRole('link', { name: `Animal ${first.id}` }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('h1').getByText('Paused').waitFor();
  const order = await send('POST', '/orders', { petId: first.id });
  await page.reload();
  await page.getByRole('link', { name: `Order ${order.id}` }).waitFor();
  await live(page);
  await page.getByRole('button', { name: 'Pause' }).click();
  const [, before] = [await send('PUT', '/categories/7', { name: 'Dogs' }), await rowsOf(page)];
  expect(before.slice(0, 2)).toEqual([`Order ${order.id}\nAnimal ${first.id}`, `Animal ${first.id}\nOzzy`]);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Category 7').waitFor();
  expect(await rowsOf(page)).toEqual(['Category 7\nDogs', ...before]);
});

testInBrowser('a type filter is part of the URL, and applies to new events', async () => {
  const { page, send } = await opened('ben');
  await live(page);
  await page.getByRole('combobox', { name: 'Type' }).selectOption('order.*');
  await page.getByText('None of the 500 newest events have this type').or(page.locator('tbody')).waitFor();
  expect(page.url()).toEndWith('type=order.*');
  const pet = await send('POST', '/pets', { name: 'Rex', categoryId: 1 });
  const order = await send('POST', '/orders', { petId: pet.id });
  await page.getByRole('link', { name: `Order ${order.id}` }).waitFor();
  const types = await page.locator('tbody .badge').allInnerTexts();
  expect(types.filter((type) => !type.startsWith('order.'))).toEqual([]);
});

testInBrowser('the keyboard can open the exact JSON of an event, and its animal', async () => {
  const { page, send } = await opened('cleo', '/events?type=pet.created');
  await live(page);
  const { id } = await send('POST', '/pets', { name: 'Maple', categoryId: 1 });
  await page.getByText('Maple').waitFor();
  await tabTo(page, `Animal ${id}`);
  await tabTo(page, 'JSON');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  const shown = JSON.parse(await dialog.locator('pre').innerText());
  expect(shown).toMatchObject({ type: 'pet.created', data: { id, name: 'Maple' } });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await focused(page)).toBe('JSON');
  await page.getByRole('link', { name: `Animal ${id}` }).press('Enter');
  await page.getByRole('heading', { name: 'Animals' }).waitFor();
  await page.getByText('Maple').waitFor();
});

testInBrowser(
  'the events page reports an outage, recovers automatically, and ends its request when it is left',
  async () => {
    const { page, send } = await opened('dora');
    await live(page);
    const failing = (url: URL) => url.pathname === '/admin/v1/events';
    const body = JSON.stringify({ code: 'service_unavailable', message: 'The store is away.' });
    await page.route(failing, (route) =>
      route.fulfill({ status: 503, body, headers: { 'Retry-After': '1' }, contentType: 'application/json' }),
    );
    await send('POST', '/pets', { name: 'Bo', categoryId: 1 });
    await page.getByText('The store is away.').waitFor();
    await page.unroute(failing);
    await live(page);
    const ended = page.waitForEvent('requestfailed', (request) => failing(new URL(request.url())));
    await page.getByRole('link', { name: 'Overview' }).click();
    await ended;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByText('The service is unreachable.').count()).toBe(0);
  },
);
