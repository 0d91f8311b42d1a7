/** Forms: validation and results. */
import { expect } from 'bun:test';
import { dayMs } from '../../src/domain/clock.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

testInBrowser(
  'a new key has the chosen name and expiry, and the curl command shown with it works',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    const { account } = await addAccount('Till shop', 'pro');
    const page = await signedIn(await addOperator('olga', 'admin'), `/accounts/${account.id}`);
    await page.getByRole('button', { name: 'Issue key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('website');
    await dialog.getByLabel('Expires').selectOption('In 30 days');
    await dialog.getByRole('button', { name: 'Issue key' }).click();
    await page.getByRole('heading', { name: 'New key “website” for Till shop' }).waitFor();
    const command = await dialog.locator('pre').innerText();
    const [, bearer = '', url = ''] = /'Authorization: (Bearer [^']+)' (\S+)$/.exec(command) ?? [];
    expect((await fetch(url, { headers: { Authorization: bearer } })).status).toBe(200);
    const [key] = await app.admin.storage.keys.listNewest(undefined, 1);
    expect(Math.round(((key?.expiresAt ?? 0) - (key?.createdAt ?? 0)) / dayMs)).toBe(30);
  },
);

testInBrowser('custom limits of an Enterprise account are validated while they are typed', async () => {
  const { signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('otto', 'admin'), '/accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Partner');
  await dialog.getByLabel('Plan').selectOption('enterprise');
  await dialog.getByLabel('Requests per minute').fill('0');
  await dialog.getByText('Requests per minute must be a whole number from 1 to').waitFor();
  await dialog.getByLabel('Requests per day').fill('100');
  const submit = dialog.getByRole('button', { name: 'Create account' });
  expect(await submit.isDisabled()).toBe(true);
  await dialog.getByLabel('Requests per minute').fill('10');
  await submit.click();
  await page.getByRole('heading', { level: 1, name: 'Partner' }).waitFor();
});

testInBrowser('several keys can be revoked at once by typing the name of their account', async () => {
  const { app, signedIn, addOperator, addAccount } = await given();
  const { account, keyId } = await addAccount('Bulk', 'free');
  const { id: other } = await app.admin.keys.create(account.id, 'second', undefined, ['pets:read']);
  const page = await signedIn(await addOperator('oona', 'admin'), `/accounts/${account.id}`);
  for (const id of [keyId, other]) await page.getByLabel(`Select key ${id}`).check();
  await page.getByRole('button', { name: 'Revoke 2 selected keys' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Bulk');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke keys' }).click();
  await page.getByText('Revoked 2 keys.').waitFor();
  for (const id of [keyId, other]) expect((await app.admin.keys.find(id)).revokedAt).not.toBeNull();
});

testInBrowser(
  'an unnamed category can be named in its row, and an operator can end another session',
  async () => {
    const { apiUrl, signedIn, addOperator, addAccount } = await given();
    const { key } = await addAccount('feed', 'pro');
    await fetch(`${apiUrl}/v1/pets`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'Ada', categoryId: 41 }),
    });
    const token = await addOperator('orla', 'admin');
    await signedIn(token, '/');
    const page = await signedIn(token, '/categories');
    await page.getByLabel('Name for category 41', { exact: true }).fill('Owls');
    await page.getByRole('button', { name: 'Save name for category 41' }).click();
    await page.getByRole('link', { name: 'Owls' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Unnamed categories in use' }).count()).toBe(0);

    await page.getByRole('link', { name: 'Operators' }).click();
    await page.getByRole('button', { name: /^End session/ }).click();
    await page.getByText('Ended the session.').waitFor();
    await page.getByRole('button', { name: /^End session/ }).waitFor({ state: 'detached' });
  },
);
