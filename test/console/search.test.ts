/** The search dialog, which every page has. */
import { expect } from 'bun:test';
import { consoleOfTests, focused, testInBrowser } from './given.ts';

const given = consoleOfTests();

testInBrowser(
  'search finds an account by part of its name and a key by its last characters, without a mouse',
  async () => {
    const { signedIn, addOperator, addAccount } = await given();
    const { account, key, keyId } = await addAccount('Seattle shop', 'pro');
    const page = await signedIn(await addOperator('sam', 'viewer'), '/orders');
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('TTLE');
    await page.getByRole('link', { name: 'Seattle shop Account' }).waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toContain(`Account ${account.id}`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Seattle shop' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);

    await page.keyboard.press('Control+k');
    await page.keyboard.type(key.slice(-4));
    await page.getByRole('link', { name: `Key ${keyId}` }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/(keys|accounts)\/\d+$/);
  },
);

testInBrowser('search finds a failed request by its id, and shows only that request', async () => {
  const { apiUrl, signedIn, addOperator, addAccount } = await given();
  const { key, keyId } = await addAccount('Failing shop', 'pro');
  const request = (requestId: string) =>
    fetch(`${apiUrl}/v1/pets/424242`, {
      headers: { Authorization: `Bearer ${key}`, 'X-Request-Id': requestId },
    });
  for (const requestId of ['failing-7', 'other-1', 'other-2']) {
    expect((await request(requestId)).status).toBe(404);
  }
  const page = await signedIn(await addOperator('rene', 'viewer'), '/bans');
  await page.getByText('No keys are banned.').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('failing-7');
  await page.getByRole('link', { name: 'failing-7 Failed request' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Request failing-7' }).waitFor();
  const rows = page.getByRole('table', { name: 'Recent failed requests' }).getByRole('row');
  await rows
    .nth(1)
    .getByRole('link', { name: `Key ${keyId}` })
    .waitFor();
  expect(await rows.count()).toBe(2);
  await page.getByRole('link', { name: 'All failed requests' }).click();
  await rows.getByText('other-2').waitFor();
});

testInBrowser(
  'search reports that it found nothing, and does not open when a user types / in a field',
  async () => {
    const { signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('pia', 'viewer'), '/accounts');
    await page.getByLabel('Name', { exact: false }).first().fill('a');
    await page.keyboard.type('/');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('no such thing');
    await page.getByText('No results.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },
);
