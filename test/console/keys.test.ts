/** Two keys with the same name after a rotation. */
import { expect } from 'bun:test';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

testInBrowser(
  'labels distinguish a rotated key from its successor, and a rotated key cannot be rotated again',
  async () => {
    const { app, signedIn, addOperator, addAccount } = await given();
    const { account, key, keyId } = await addAccount('till', 'free');
    const successor = await app.admin.keys.rotate(keyId, 86_400_000);
    const page = await signedIn(await addOperator('rita', 'admin'), `/accounts/${account.id}`);
    const labels = async (verb: string) =>
      Promise.all(
        (await page.getByRole('button', { name: verb }).all()).map((button) =>
          button.getAttribute('aria-label'),
        ),
      );
    const old = `key ${keyId} (till, ends in ${key.slice(-4)})`;
    const current = `key ${successor.id} (till, ends in ${successor.key.slice(-4)})`;
    await page.getByText(`Rotated to key ${successor.id}`).waitFor();
    expect(await labels('Revoke key')).toEqual([`Revoke ${current}`, `Revoke ${old}`]);
    expect(await labels('Rotate key')).toEqual([`Rotate ${current}`]);

    await page.getByRole('button', { name: `Revoke ${old}` }).click();
    await page.getByRole('heading', { name: `Revoke ${old}?` }).waitFor();
    await page.getByText(`It was rotated to key ${successor.id}, which is not affected.`).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('till');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText(`Revoked ${old}.`).waitFor();
    expect((await app.admin.keys.find(keyId)).revokedAt).not.toBeNull();
    expect((await app.admin.keys.find(successor.id)).revokedAt).toBeNull();
  },
);
