/** Tasks of an operator, from signing in to signing out, while a client sends requests. */
import { describe, expect } from 'bun:test';
import { until } from '../support/wait.ts';
import { consoleOfTests, endSession, focused, tabTo, testInBrowser } from './given.ts';

/** A low number of strikes, so that tests can cause bans quickly. */
const given = consoleOfTests({ BAN_STRIKES: '3', BAN_FIRST_SECONDS: '3600' });

describe('signing in', () => {
  testInBrowser(
    'with a console link works once, and the code is removed from the URL immediately',
    async () => {
      const { app, url, openPage } = await given();
      const link = `${url}/#code=${app.console?.createCode()}`;
      const page = await openPage();
      await page.goto(link);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(page.url()).not.toContain('code');
      const other = await openPage();
      await other.goto(link);
      await other.getByText('Sign in with a token, or request a new link').waitFor();
      expect(other.url()).not.toContain('code');
    },
  );

  testInBrowser('with a token opens the requested page, even after the session has ended', async () => {
    const { url, openPage, addOperator } = await given();
    const token = await addOperator('carla', 'admin');
    const page = await openPage();
    await page.goto(`${url}/#/orders?status=placed`);
    await page.getByLabel('Token').fill('aso_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The token or code is not valid').waitFor();
    await page.getByLabel('Token').fill(token);
    await page.getByLabel('Token').press('Enter');
    await page.getByRole('heading', { name: 'Orders' }).waitFor();
    expect(await page.getByLabel('Status').inputValue()).toBe('placed');

    await endSession(page);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByLabel('Token').fill(token);
    await page.getByLabel('Token').press('Enter');
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
  });

  testInBrowser('as a viewer does not permit changes, and the console explains why', async () => {
    const { signedIn, addOperator, addAccount } = await given();
    const { account } = await addAccount('Looked at', 'free');
    const page = await signedIn(await addOperator('vera', 'viewer'), `/accounts/${account.id}`);
    await page.getByRole('button', { name: 'Close account' }).press('Enter');
    await page.getByText('Only admins can change this').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  testInBrowser('is required after signing out, even with the former session cookie', async () => {
    const { url, signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('otto', 'admin'), '/system');
    const cookies = await page.context().cookies();
    const secret = await page.evaluate<string>("sessionStorage.getItem('animal-store-session-secret')");
    const headers = { 'X-Session-Secret': secret };
    const status = async () =>
      (await page.context().request.get(`${url}/admin/v1/session`, { headers })).status();
    expect(await status()).toBe(200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.context().addCookies(cookies);
    expect(await status()).toBe(401);
  });
});

describe('accounts and keys', () => {
  testInBrowser(
    'a new key is shown until the operator has saved it, and a request with it appears on the overview immediately',
    async () => {
      const { apiUrl, signedIn, addOperator } = await given();
      const page = await signedIn(await addOperator('ines', 'admin'), '/accounts');
      await page.getByRole('button', { name: 'New account' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Corner shop');
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Corner shop' }).waitFor();
      await page.getByRole('button', { name: 'Issue key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('till');
      await page.getByRole('dialog').getByRole('button', { name: 'Issue key' }).click();
      await page.getByRole('button', { name: "I've saved it" }).waitFor();
      const key = await page.getByRole('dialog').locator('code').innerText();
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      for (let times = 0; times < 5; times++) await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Copy' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      await page.getByRole('button', { name: "I've saved it" }).click();
      expect(await page.content()).not.toContain(key);

      await page.getByRole('link', { name: 'Overview' }).click();
      const shown = page.getByText(/^[\d,]+ in the last 5 minutes$/);
      const count = async () => Number.parseInt((await shown.innerText()).replaceAll(',', ''), 10);
      const before = await count();
      const answer = await fetch(`${apiUrl}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } });
      expect(answer.status).toBe(200);
      await until(async () => (await count()) > before);
    },
  );

  testInBrowser(
    'the console shows a ban of a key that exceeds its limit, and lifting the ban lets the key send requests again',
    async () => {
      const { apiUrl, signedIn, addOperator, addAccount } = await given();
      const { key, keyId } = await addAccount('Hammering', 'enterprise', { perMinute: 1, perDay: 1_000 });
      const ask = () => fetch(`${apiUrl}/v1/rate-limit`, { headers: { Authorization: `Bearer ${key}` } });
      const read = () => fetch(`${apiUrl}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } });
      const page = await signedIn(await addOperator('hugo', 'admin'), '/bans');
      await page.getByText('No keys are banned').waitFor();
      await until(async () => (await (await read()).text()).includes('api_key_banned'));
      await page.getByText('1 hour', { exact: true }).waitFor();
      await page.goto(`${page.url().split('#')[0]}#/keys/${keyId}`);
      await page.getByText(/^1 hour, ends in /).waitFor();
      await page.getByText('Lasts 2 hours').waitFor();
      await page.goto(`${page.url().split('#')[0]}#/bans`);
      await page.getByRole('button', { name: /^Lift ban on key \d+ \(Hammering, / }).click();
      await page.getByText(/^Lifted the ban on key \d+ \(Hammering/).waitFor();
      await page.getByText('No keys are banned').waitFor();
      expect((await ask()).status).toBe(200);
    },
  );

  testInBrowser('a changed plan applies to the next request of a client', async () => {
    const { apiUrl, signedIn, addOperator, addAccount } = await given();
    const { account, key } = await addAccount('Growing', 'free');
    const limit = async () =>
      (await fetch(`${apiUrl}/v1/rate-limit`, { headers: { Authorization: `Bearer ${key}` } })).headers.get(
        'X-RateLimit-Limit',
      );
    const page = await signedIn(await addOperator('greta', 'admin'), `/accounts/${account.id}`);
    const before = await limit();
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByLabel('Plan', { exact: true }).selectOption('business');
    await page.getByRole('dialog').getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect([before, await limit()]).toEqual(['60', '1000']);
    await page.getByText('Changed account').first().waitFor();
  });

  testInBrowser(
    'rotating a key creates an active key, revoking a key requires typing its name, and the account page shows both',
    async () => {
      const { apiUrl, signedIn, addOperator, addAccount } = await given();
      const { account, key: old } = await addAccount('Leaving', 'free');
      const page = await signedIn(await addOperator('rita', 'admin'), `/accounts/${account.id}`);
      const statusOf = async (key: string) =>
        (await fetch(`${apiUrl}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } })).status;
      await page.getByRole('button', { name: /^Rotate key \d+ \(Leaving, / }).click();
      await page.getByLabel('Grace period for the old key').selectOption('0');
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate key' }).click();
      await page.getByRole('button', { name: "I've saved it" }).waitFor();
      const key = await page.getByRole('dialog').locator('code').innerText();
      await page.getByRole('button', { name: "I've saved it" }).click();
      expect([await statusOf(old), await statusOf(key)]).toEqual([401, 200]);

      await page
        .getByRole('button', { name: `ends in ${key.slice(-4)})` })
        .last()
        .click();
      const revoke = page.getByRole('dialog').getByRole('button', { name: 'Revoke key' });
      expect(await revoke.isDisabled()).toBe(true);
      await page.getByLabel('Name', { exact: true }).fill('Leaving');
      await revoke.click();
      await page.getByRole('table', { name: 'Keys' }).getByText('Revoked', { exact: true }).waitFor();
      expect(await statusOf(key)).toBe(401);
      for (const change of ['Rotated key', 'Revoked key']) await page.getByText(change).first().waitFor();
    },
  );

  testInBrowser('an account can be closed with the keyboard alone', async () => {
    const { signedIn, addOperator, addAccount } = await given();
    const { account } = await addAccount('Typed', 'free');
    const page = await signedIn(await addOperator('kim', 'admin'), '/accounts');
    await page.getByRole('link', { name: 'Typed' }).waitFor();
    await tabTo(page, 'Typed');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Typed' }).waitFor();
    await tabTo(page, 'Close account');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Name').waitFor();
    await page.keyboard.type('Typed');
    await page.keyboard.press('Enter');
    await page.getByText('Closed Typed').waitFor();
    expect(await focused(page)).not.toBe('');
    expect((await (await given()).app.admin.accounts.find(account.id)).closedAt).not.toBeNull();
  });
});

describe('the shop', () => {
  testInBrowser(
    'an order can be approved, delivered and returned, and then its animal is available again',
    async () => {
      const { signedIn, addOperator } = await given();
      const page = await signedIn(await addOperator('olga', 'admin'), '/animals');
      await page.getByRole('button', { name: 'Add animal' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Wanda');
      await page.getByLabel('Category', { exact: true }).last().fill('9223372036854775807');
      await page.getByRole('dialog').getByRole('button', { name: 'Add animal' }).click();
      const id = /animal (\d+)/.exec(await page.getByText(/^Added Wanda as animal/).innerText())?.[1] ?? '';
      await page.getByRole('link', { name: 'Orders', exact: true }).first().click();
      await page.getByRole('button', { name: 'Place order' }).click();
      await page.getByRole('dialog').getByLabel('Animal').fill(id);
      await page.getByRole('dialog').getByRole('button', { name: 'Place order' }).click();
      for (const [step, state] of [
        ['Approve', 'Approved'],
        ['Deliver', 'delivered'],
        ['Return', 'returned'],
      ] as const) {
        await page.getByRole('button', { name: `${step} order` }).click();
        await page.getByRole('dialog').getByRole('button', { name: step }).click();
        await page.getByRole('cell', { name: state }).waitFor();
      }
      await page.goto(`${(await given()).url}/#/animals?categoryId=9223372036854775807`);
      await page.getByText('Category 9223372036854775807', { exact: true }).waitFor();
      await page.getByRole('cell', { name: 'available' }).waitFor();
    },
  );
});

testInBrowser('rotating a token ends the sessions of its operator, and the new token works', async () => {
  const { signedIn, addOperator } = await given();
  const theirs = await signedIn(await addOperator('tom', 'viewer'), '/accounts');
  const page = await signedIn(await addOperator('ada', 'admin'), '/operators');
  await page.getByRole('button', { name: 'Rotate token for tom' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate token' }).click();
  await page.getByRole('button', { name: "I've saved it" }).waitFor();
  const token = await page.getByRole('dialog').locator('code').innerText();
  await theirs.getByRole('link', { name: 'Bans' }).click();
  await theirs.getByLabel('Token').fill(token);
  await theirs.getByLabel('Token').press('Enter');
  await theirs.getByRole('heading', { name: 'Bans' }).waitFor();
});

testInBrowser('the export of the audit log contains exactly the entries that match the filters', async () => {
  const { signedIn, addOperator, addAccount } = await given();
  const { account } = await addAccount('Audited', 'free');
  const page = await signedIn(await addOperator('aki', 'admin'), `/accounts/${account.id}`);
  await page.getByRole('link', { name: 'Show all' }).click();
  await page.getByText('Issued').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const lines = (await Bun.file(await (await download).path()).text()).trimEnd().split('\n');
  const operations = lines.map((line) => (JSON.parse(line) as { operation: string }).operation);
  expect(operations).toEqual(['createAccount', 'createKey']);
});

testInBrowser('a backup can be created with a label, verified and downloaded', async () => {
  const { signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('bo', 'admin'), '/system');
  await page.getByRole('button', { name: 'Create backup' }).click();
  await page.getByLabel('Label (optional)').fill('before-upgrade');
  await page.getByRole('dialog').getByRole('button', { name: 'Create backup' }).click();
  await page.getByText(/^Created .*-before-upgrade\.backup\.$/).waitFor();
  await page.getByRole('button', { name: /^Verify / }).click();
  await page.getByText('Intact', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('Intact', { exact: true }).waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /^Download .*-before-upgrade/ }).click();
  const saved = await download;
  expect(saved.suggestedFilename()).toEndWith('-before-upgrade.backup');
  expect(
    await Bun.file(await saved.path())
      .slice(0, 6)
      .text(),
  ).toBe('SQLite');
});
