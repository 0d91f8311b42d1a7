/** Lists: their order, totals, filters and exports. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { formatCsv } from '../../console/csv.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

async function exported(page: Page, format: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: `Export as ${format}` }).click(),
  ]);
  return Bun.file(await download.path()).text();
}

testInBrowser(
  'lists of animals and orders start with the newest, and have totals, names and exports',
  async () => {
    const { apiUrl, signedIn, addOperator, addAccount } = await given();
    const { key } = await addAccount('shop', 'business');
    const post = (path: string, body: unknown) =>
      fetch(`${apiUrl}/v1${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    for (const name of ['Ada', '=1+1', 'Cleo']) await post('/pets', { name, categoryId: 1 });
    await post('/orders', { petId: 3, reference: 'cart-1' });

    const page = await signedIn(await addOperator('lisa', 'viewer'), '/animals');
    await page.getByText('3 animals: 2 available, 1 pending, 0 sold').waitFor();
    const rows = page.getByRole('table', { name: 'Animals' }).locator('tbody tr .name');
    expect(await rows.allInnerTexts()).toEqual(['Cleo', '=1+1', 'Ada']);
    expect(await exported(page, 'CSV')).toBe(
      "id,name,categoryId,status\r\n3,Cleo,1,pending\r\n2,'=1+1,1,available\r\n1,Ada,1,available\r\n",
    );
    await page.getByLabel('Sort by').selectOption('Oldest first');
    await page.getByRole('row').nth(1).getByText('Ada').waitFor();
    const oldest = JSON.parse(await exported(page, 'JSON'));
    expect(oldest.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3]);

    await page.getByRole('link', { name: 'Orders', exact: true }).first().click();
    await page.getByText('1 order', { exact: true }).waitFor();
    await page.getByRole('cell', { name: 'Cleo' }).waitFor();
    await page.getByLabel('Placed to').fill('2020-01-01');
    await page.getByText('No orders match these filters.').waitFor();
  },
);

testInBrowser(
  'accounts can be sorted by name and have a total, and keys can be filtered by state',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    await addAccount('Zoo', 'free');
    const { account, keyId } = await addAccount('Aviary', 'free');
    await app.admin.keys.create(account.id, 'gone', undefined, ['pets:read']);
    await app.admin.keys.revoke(keyId + 1);
    const page = await signedIn(await addOperator('lena', 'viewer'), '/accounts');
    await page.getByText(/^\d+ accounts$/).waitFor();
    await page.getByLabel('Sort by').selectOption('Name');
    await page.getByRole('row').nth(1).getByText('Aviary').waitFor();
    await page.getByRole('link', { name: 'Aviary' }).click();
    await page.getByRole('cell', { name: 'gone' }).waitFor();
    await page.getByLabel('State').selectOption('Active');
    await page.getByRole('cell', { name: 'gone' }).waitFor({ state: 'detached' });
  },
);

testInBrowser('cells of a CSV export are quoted where CSV requires quotes', async () => {
  expect(formatCsv([{ name: 'a "b", c', when: null }, { other: ['x', 'y'] }])).toBe(
    'name,when,other\r\n"a ""b"", c",,\r\n,,x y\r\n',
  );
});
