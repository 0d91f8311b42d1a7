/** Console sessions: access to their secrets, and behavior when a session ends. */
import { afterAll, describe, expect } from 'bun:test';
import { consoleOfTests, endSession, testInBrowser } from './given.ts';

const given = consoleOfTests();

describe('a session', () => {
  /** Cookies received by another user's web server on the same machine. */
  const received: string[] = [];
  const neighbour = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ headers }) => {
      received.push(headers.get('cookie') ?? '');
      return new Response('hello');
    },
  });
  afterAll(() => neighbour.stop(true));

  testInBrowser(
    'cannot be used by a server on another port, even though that server receives the cookie',
    async () => {
      const { url, signedIn, addOperator } = await given();
      const page = await signedIn(await addOperator('nora', 'admin'), '/accounts');
      await page.getByRole('heading', { name: 'Accounts' }).waitFor();
      const lured = await page.context().newPage();
      await lured.goto(neighbour.url.href);
      const Cookie = received.find((cookie) => cookie.includes('animal-store-session')) ?? '';
      expect(Cookie).not.toBe('');
      const response = await fetch(`${url}/admin/v1/operators`, {
        method: 'POST',
        headers: { Cookie, Origin: url, 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: 'mallory', role: 'admin' }),
      });
      expect(response.status).toBe(401);
    },
  );

  testInBrowser(
    'that ends while a form is open keeps the entered values, and the console explains why it requires the token',
    async () => {
      const { app, signedIn, addOperator } = await given();
      const token = await addOperator('fay', 'admin');
      const page = await signedIn(token, '/accounts');
      await page.getByRole('button', { name: 'New account' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Half typed');
      await endSession(page);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByLabel('Token').fill(token);
      await page.getByLabel('Token').press('Enter');
      await page.getByText('Your session ended. Sign in, then try again.').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half typed');
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Half typed' }).waitFor();
      expect((await app.admin.store.accounts.search(undefined, 9, { name: 'half typed' })).length).toBe(1);
    },
  );

  testInBrowser(
    'of another operator does not show what was entered before the previous session ended',
    async () => {
      const { signedIn, addOperator } = await given();
      const page = await signedIn(await addOperator('gil', 'admin'), '/accounts');
      await page.getByRole('button', { name: 'New account' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Private');
      await endSession(page);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByLabel('Token').fill(await addOperator('hal', 'admin'));
      await page.getByLabel('Token').press('Enter');
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
      expect(await page.getByRole('dialog').count()).toBe(0);
    },
  );

  testInBrowser(
    'that began with a link shows the command that creates a token once it has ended',
    async () => {
      const { app, url, openPage, addOperator } = await given();
      const page = await openPage();
      await page.goto(`${url}/#code=${app.console?.createCode()}`);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.context().clearCookies();
      // The overview reloads its data periodically, so the dialog may already cover the link.
      await page.evaluate("location.hash = '#/orders'");
      const dialog = page.getByRole('dialog');
      await dialog.getByText('animal-store operators create NAME --role admin').waitFor();
      await dialog.getByLabel('Token').fill(await addOperator('lina', 'viewer'));
      await dialog.getByLabel('Token').press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
      await dialog.waitFor({ state: 'detached' });
    },
  );

  testInBrowser('that has ended leaves no notification with the name of an account', async () => {
    const { signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('nele', 'admin'), '/accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Secret shop');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.locator('.notices').getByText('Secret shop').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    expect(await page.locator('.notices').innerText()).toBe('');
  });

  testInBrowser('is shared by the tabs of one browser, but not with other origins', async () => {
    const { url, signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('tara', 'admin'), '/accounts');
    await page.getByRole('heading', { name: 'Accounts' }).waitFor();
    const second = await page.context().newPage();
    await second.goto(`${url}/#/bans`);
    await second.getByRole('heading', { name: 'Bans' }).waitFor();
    const lured = await page.context().newPage();
    await lured.goto(neighbour.url.href);
    const heard = await lured.evaluate(
      `new Promise((resolve) => {
         const channel = new BroadcastChannel('animal-store-session-secret');
         channel.onmessage = ({ data }) => resolve(data);
         channel.postMessage({ ask: true });
         fetch('/').then(() => setTimeout(resolve, 0, 'nothing'));
       })`,
    );
    expect(heard).toBe('nothing');
  });
});
