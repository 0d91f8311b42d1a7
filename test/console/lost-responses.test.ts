/** Responses that are lost after the service has executed the request. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

/** Drops the response to the next request for this path, with a broken connection or a 502. */
async function loseOne(page: Page, address: string, end: 'broken' | '502'): Promise<void> {
  await page.route(
    address,
    async (route) => {
      await route.fetch();
      if (end === 'broken') await route.abort();
      else await route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' });
    },
    { times: 1 },
  );
}

for (const end of ['broken', '502'] as const) {
  testInBrowser(
    `if the response with a new key is lost (${end}), a retry shows the key and creates no second key`,
    async () => {
      const { app, apiUrl, signedIn, addOperator, addAccount } = await given();
      const { account } = await addAccount(`Lossy ${end}`, 'free');
      const page = await signedIn(await addOperator(`lola ${end}`, 'admin'), `/accounts/${account.id}`);
      await page.getByRole('button', { name: 'Issue key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('till');
      await loseOne(page, `**/accounts/${account.id}/keys`, end);
      const submit = page.getByRole('dialog').getByRole('button', { name: 'Issue key' });
      await submit.click();
      await page.getByText('the outcome is unknown').waitFor();
      // The list behind the dialog already shows the new key.
      await page.getByRole('table', { name: 'Keys' }).getByText('till').waitFor();
      await submit.click();
      const key = await page.getByRole('dialog').locator('.secret code').innerText();
      const headers = { Authorization: `Bearer ${key}` };
      expect((await fetch(`${apiUrl}/v1/pets`, { headers })).status).toBe(200);
      const issued = await app.admin.storage.keys.list(0, 99, { accountId: account.id });
      expect(issued.map(({ name }) => name)).toEqual([`Lossy ${end}`, 'till']);
    },
  );
}

testInBrowser('issuing another key with the same name creates a second key', async () => {
  const { app, signedIn, addOperator, addAccount } = await given();
  const { account } = await addAccount('Twice', 'free');
  const page = await signedIn(await addOperator('twila', 'admin'), `/accounts/${account.id}`);
  for (let times = 0; times < 2; times++) {
    await page.getByRole('button', { name: 'Issue key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('till');
    await page.getByRole('dialog').getByRole('button', { name: 'Issue key' }).click();
    await page.getByRole('dialog').locator('footer button').last().click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  const issued = await app.admin.storage.keys.list(0, 99, { accountId: account.id });
  expect(issued.map(({ name }) => name)).toEqual(['Twice', 'till', 'till']);
});
