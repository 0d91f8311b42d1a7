/** Pages and dialogs for webhooks. */
import { expect } from 'bun:test';
import { until } from '../support/wait.ts';
import {
  addDeliveries,
  addWebhook,
  failedDelivery,
  pendingDelivery,
  succeededDelivery,
} from '../support/webhooks.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';
import { consoleOfTests, focused, tabTo, testInBrowser } from './given.ts';

const given = consoleOfTests({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1', WEBHOOKS: 'off' });

/** Adds a webhook with some deliveries to a new account. Returns the ids of the webhook and the account. */
async function stocked(name: string, endpoint?: string) {
  const { app, storePath, addAccount } = await given();
  const url = `sqlite:${storePath}`;
  const { account } = await addAccount(name, 'business');
  await addWebhook(url, {
    ...{ accountId: account.id, description: `For ${name}` },
    ...(endpoint !== undefined && { url: endpoint }),
  });
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

testInBrowser('an account page links to its webhooks, and each webhook to its deliveries', async () => {
  const { storePath, signedIn, addOperator } = await given();
  const [{ id, accountId }, other] = [await stocked('ann'), await stocked('ben')];
  const now = Date.now();
  const { attempts } = failedDelivery(id, 6n, now);
  await addDeliveries(`sqlite:${storePath}`, [{ ...pendingDelivery(id, 6n, now), attempts }]);
  const page = await signedIn(await addOperator('viewer', 'viewer'), '/webhooks');
  await page.getByText(`Webhook ${other.id} · For ben`).waitFor();
  await page.goto(page.url().replace('/webhooks', `/accounts/${accountId}`));
  await page.getByRole('main').getByRole('link', { name: 'Webhooks' }).click();
  await page.getByText(`Webhook ${id} · For ann`).waitFor();
  await page.getByText('For ben').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'https://shop.example/webhooks' }).click();
  await page.getByRole('heading', { name: `Webhook ${id}`, exact: false, level: 1 }).waitFor();
  await page.locator('.tile strong').getByText('60%').waitFor();
  const tiles = await page.locator('.tile strong').allInnerTexts();
  expect(tiles.slice(0, 2)).toEqual(['60%', '2']);
  await page.getByText('of the last 5 attempted deliveries').waitFor();
  await page.getByText('1 after a failed attempt').waitFor();
  const events = page.locator('tbody td:first-child .name');
  expect(await events.allInnerTexts()).toEqual([6, 5, 4, 3, 2, 1].map((event) => `Event ${event}`));
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
  await page.getByText('Event 5').waitFor({ state: 'detached' });
  await page.getByText('Event 4').waitFor();
  expect(await events.allInnerTexts()).toEqual(['Event 4']);
  await page.getByRole('button', { name: `Disable webhook ${id}` }).press('Enter');
  await page.getByRole('status').getByText('You are signed in as a viewer').waitFor();
});

testInBrowser('the keyboard can open the attempts of a delivery', async () => {
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

testInBrowser('an admin can disable a webhook with a reason, and enable it again', async () => {
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
  const entry = page
    .getByRole('group')
    .filter({ hasText: `webhook ${id}` })
    .first();
  await entry.locator('summary').click();
  await entry.getByRole('link', { name: `webhook ${id}` }).waitFor();
});

testInBrowser(
  'an admin can test a webhook, and sees the outcome of each test, but not the response body',
  async () => {
    const { signedIn, addOperator } = await given();
    const statuses = ['204 No Content', '503 Unavailable'];
    await using receiver = await startReceiver((socket) =>
      socket.write(response(statuses.shift() ?? '', statuses.length === 1 ? '' : 'private')),
    );
    const { id, accountId } = await stocked('emil', `http://127.0.0.1:${receiver.port}/`);
    const page = await signedIn(await addOperator('tester', 'admin'), `/webhooks?accountId=${accountId}`);
    await page.getByRole('button', { name: `Test webhook ${id}` }).click();
    const dialog = page.getByRole('dialog');
    const outcome = dialog.getByRole('status');
    await dialog.getByRole('button', { name: 'Send test event' }).click();
    await outcome.getByText('The receiver responded with 204 after').waitFor();
    await dialog.getByRole('button', { name: 'Send test event' }).click();
    await outcome.getByText('The receiver responded with 503 after').waitFor();
    expect(await dialog.innerText()).not.toContain('private');
    await receiver[Symbol.asyncDispose]();
    await dialog.getByRole('button', { name: 'Send test event' }).click();
    await outcome.getByText('ECONNREFUSED').waitFor();
    expect(receiver.requests).toHaveLength(2);
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await dialog.waitFor({ state: 'detached' });
  },
);

testInBrowser('an admin can redeliver one event, or all events after an id', async () => {
  const { app, signedIn, addOperator } = await given();
  const { id } = await stocked('finn');
  const page = await signedIn(await addOperator('sender', 'admin'), `/webhooks/${id}?status=failed`);
  const { storage } = app.admin;
  const pending = async () => {
    const listed = await storage.deliveries.list(undefined, 10, { webhookId: id, status: 'pending' });
    return listed.map(({ eventId }) => eventId);
  };
  await page.getByRole('button', { name: 'Redeliver delivery', exact: false }).click();
  await page.getByText('as a new delivery').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Redeliver' }).click();
  await page.getByRole('status').getByText('Event 4 will be sent again.').waitFor();
  expect(await pending()).toEqual([4n, 5n]);
  await page.getByRole('button', { name: `Redeliver webhook ${id}` }).click();
  await page.getByRole('textbox', { name: 'After event' }).fill('0');
  await page.getByRole('dialog').getByRole('button', { name: 'Redeliver' }).click();
  await page.getByRole('status').getByText(`Events after 0 will be sent to webhook ${id} again.`).waitFor();
  await until(async () => ((await storage.webhooks.find(id))?.position ?? 0n) < 2n ** 60n);
});

testInBrowser('a viewer cannot send test events or redeliver, and the console explains why', async () => {
  const { signedIn, addOperator } = await given();
  const { id } = await stocked('gina');
  const page = await signedIn(await addOperator('onlooker', 'viewer'), `/webhooks/${id}?status=failed`);
  for (const name of [`Test webhook ${id}`, `Redeliver webhook ${id}`, 'Redeliver delivery']) {
    await page.getByRole('button', { name }).press('Enter');
    await page.getByRole('status').getByText('You are signed in as a viewer').first().waitFor();
  }
  expect(await page.getByRole('dialog').count()).toBe(0);
});
