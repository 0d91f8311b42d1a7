/** The dialogs of the orders page. */
import { expect } from 'bun:test';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

testInBrowser('the dialog that cancels an order has only one button labeled "Cancel"', async () => {
  const { apiUrl, signedIn, addOperator, addAccount } = await given();
  const { key } = await addAccount('Orders shop', 'pro');
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const post = (path: string, body: unknown) =>
    fetch(`${apiUrl}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await post('/pets', { name: 'Rex', categoryId: 1 });
  expect((await post('/orders', { petId: 1 })).status).toBe(201);
  const page = await signedIn(await addOperator('orla', 'admin'), '/orders');
  await page.getByRole('button', { name: 'Cancel order 1' }).click();
  const buttons = page.getByRole('dialog').locator('footer').getByRole('button');
  expect(await buttons.allInnerTexts()).toEqual(['Keep order', 'Cancel order']);
  await buttons.first().click();
  await page.getByText('placed', { exact: true }).last().waitFor();
  await page.getByRole('button', { name: 'Cancel order 1' }).click();
  await buttons.last().click();
  await page.getByText('Cancelled order 1.').waitFor();
});
