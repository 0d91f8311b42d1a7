/** If two operators edit the same object, the second gets a warning. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

/** Saves, checks that a warning shows the other operator's change, and saves again. */
async function saveOver(page: Page, submit: string, others: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: submit }).click();
  await dialog.getByText('Someone else changed this while you were editing.').waitFor();
  await dialog.locator('ins', { hasText: others }).waitFor();
  await dialog.getByRole('button', { name: submit }).click();
  await dialog.waitFor({ state: 'detached' });
}

testInBrowser(
  'an account that another operator has just renamed can be renamed only by saving twice',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    const { account } = await addAccount('Before', 'free');
    const page = await signedIn(await addOperator('ann', 'admin'), `/accounts/${account.id}`);
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await app.admin.accounts.update(account.id, { name: 'Theirs' });
    await saveOver(page, 'Rename', 'Theirs');
    expect((await app.admin.accounts.find(account.id)).name).toBe('Mine');
  },
);

testInBrowser(
  'a note on an account can be added, is shown with line breaks, and can be removed',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    const { account } = await addAccount('Noted', 'free');
    const page = await signedIn(await addOperator('nia', 'admin'), `/accounts/${account.id}`);
    await page.getByRole('button', { name: 'Add note' }).click();
    await page.getByRole('textbox', { name: 'Note' }).fill('Wants Business.\nAnswer by Friday.');
    await page.getByRole('button', { name: 'Save note' }).click();
    await page.getByText('Saved the note on Noted.').waitFor();
    const shown = page.getByRole('region', { name: 'Note' });
    expect(await shown.innerText()).toBe('Wants Business.\nAnswer by Friday.');
    await page.getByRole('button', { name: 'Edit note' }).click();
    await page.getByRole('textbox', { name: 'Note' }).fill('');
    await page.getByRole('button', { name: 'Save note' }).click();
    await shown.waitFor({ state: 'detached' });
    expect((await app.admin.accounts.find(account.id)).note).toBeNull();
  },
);

testInBrowser(
  'scopes of a key that another operator has just changed can be changed only by saving twice',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    const { account, keyId } = await addAccount('Scoped', 'free');
    const page = await signedIn(await addOperator('ben', 'admin'), `/accounts/${account.id}`);
    await page.getByRole('button', { name: /^Scopes of key/ }).click();
    await page.getByRole('dialog').getByText('pets:write').click();
    await app.admin.keys.setScopes(keyId, ['orders:read']);
    await saveOver(page, 'Save', 'orders:read');
    expect((await app.admin.keys.find(keyId)).scopes).not.toContain('pets:write');
  },
);

testInBrowser(
  'animals and category names that a client has just changed can be changed only by saving twice',
  async () => {
    const { apiUrl, app, signedIn, addOperator, addAccount } = await given();
    const { key } = await addAccount('shop', 'free');
    const send = (method: string, path: string, body: unknown) =>
      fetch(`${apiUrl}/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    await send('POST', '/pets', { name: 'Rex', categoryId: 1 });
    await send('PUT', '/categories/1', { name: 'Dogs' });
    const page = await signedIn(await addOperator('cleo', 'admin'), '/animals');
    await page.getByRole('button', { name: 'Edit Rex' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Max');
    await send('PATCH', '/pets/1', { status: 'pending' });
    await saveOver(page, 'Save', 'pending');
    expect(await app.admin.storage.pets.find(1n)).toMatchObject({ name: 'Max', status: 'pending' });

    await page.getByRole('link', { name: 'Categories' }).click();
    await page.getByRole('button', { name: 'Rename Dogs' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Hounds');
    await send('PUT', '/categories/1', { name: 'Canines' });
    await saveOver(page, 'Save', 'Canines');
    expect(await app.admin.storage.categories.find(1n)).toMatchObject({ name: 'Hounds' });
  },
);
