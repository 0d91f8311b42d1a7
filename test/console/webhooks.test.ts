/** What operators see and change of webhooks. */
import { expect } from 'bun:test';
import {
  addDeliveries,
  addWebhook,
  failedDelivery,
  pendingDelivery,
  succeededDelivery,
} from '../support/webhooks.ts';
import { consoleOfTests, focused, tabTo, testInBrowser } from './given.ts';

const given = consoleOfTests();

/** A webhook of a new account with some deliveries, and its id. */
async function stocked(name: string) {
  const { app, storePath, addAccount } = await given();
  const url = `sqlite:${storePath}`;
  const { account } = await addAccount(name, 'business');
  await addWebhook(url, { accountId: account.id, description: `For ${name}` });
  const [webhook] = await app.admin.storage.webhooks.list(undefined, 1, { accountId: account.id });
  const id = webhook?.id ?? expect.unreachable();
  const now = Date.now();
  await addDeliveries(url, [
    ...[1n, 2n, 3n].map((event) => succeededDelivery(id, event, now - 60_000)),
    failedDelivery(id, 4n, now),
    pendingDelivery(id, 5n, now),
  ]);
  return { id, accountId: account.id };
}

testInBrowser('an account leads to its webhooks, and each of them to its deliveries', async () => {
  const { signedIn, addOperator } = await given();
  const [{ id, accountId }, other] = [await stocked('ann'), await stocked('ben')];
  const page = await signedIn(await addOperator('viewer', 'viewer'), '/webhooks');
  await page.getByText(`Webhook ${other.id} · For ben`).waitFor();
  await page.goto(page.url().replace('/webhooks', `/accounts/${accountId}`));
  await page.getByRole('main').getByRole('link', { name: 'Webhooks' }).click();
  await page.getByText(`Webhook ${id} · For ann`).waitFor();
  await page.getByText('For ben').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'https://shop.example/webhooks' }).click();
  await page.getByRole('heading', { name: `Webhook ${id}`, exact: false, level: 1 }).waitFor();
  await page.locator('.tile strong').getByText('75%').waitFor();
  const tiles = await page.locator('.tile strong').allInnerTexts();
  expect(tiles.slice(0, 2)).toEqual(['75%', '1']);
  const events = page.locator('tbody td:first-child .name');
  expect(await events.allInnerTexts()).toEqual([5, 4, 3, 2, 1].map((event) => `Event ${event}`));
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
  await page.getByText('Event 5').waitFor({ state: 'detached' });
  await page.getByText('Event 4').waitFor();
  expect(await events.allInnerTexts()).toEqual(['Event 4']);
  await page.getByRole('button', { name: `Disable webhook ${id}` }).press('Enter');
  await page.getByRole('status').getByText('You are signed in as a viewer').waitFor();
});

testInBrowser('the attempts of a delivery are shown by keyboard', async () => {
  const { signedIn, addOperator } = await given();
  const { id } = await stocked('cleo');
  const page = await signedIn(await addOperator('keyboard', 'viewer'), `/webhooks/${id}?status=failed`);
  await page.getByText('No response within 15 s.').waitFor();
  await tabTo(page, '2 attempts');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('No response within 15 s.').waitFor();
  const outcomes = await dialog.locator('td[data-title=Outcome]').allInnerTexts();
  expect(outcomes).toEqual(['503', 'No response within 15 s.']);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await focused(page)).toBe('2 attempts');
});

testInBrowser('an admin disables a webhook with a reason, and enables it again', async () => {
  const { app, signedIn, addOperator } = await given();
  const { id, accountId } = await stocked('dora');
  const stored = () => app.admin.storage.webhooks.find(id);
  const page = await signedIn(await addOperator('admin', 'admin'), `/webhooks?accountId=${accountId}`);
  await page.getByRole('button', { name: `Disable webhook ${id}` }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('Overloaded.');
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.locator('td').getByText('Overloaded.').waitFor();
  expect(await stored()).toMatchObject({ enabled: false, disabledReason: 'Overloaded.' });
  await page.getByRole('link', { name: 'https://shop.example/webhooks' }).click();
  await page.locator('.message').getByText('Overloaded.').waitFor();
  await page.getByRole('button', { name: `Enable webhook ${id}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
  await page.locator('h1').getByText('Enabled').waitFor();
  expect(await stored()).toMatchObject({ enabled: true });
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page
    .getByRole('link', { name: `webhook ${id}` })
    .first()
    .waitFor();
});
