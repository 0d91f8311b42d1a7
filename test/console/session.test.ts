/** Sessions of the console: who has their secrets, and what happens when they end. */
import { afterAll, describe, expect, setDefaultTimeout } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

setDefaultTimeout(testTimeoutMs);

const given = consoleOfTests();

describe('a session', () => {
  /** Another user's web server on this machine, with what browsers send it. */
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

  testInBrowser('cannot be used by a server on another port, although it receives the cookie', async () => {
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
  });

  testInBrowser('is shared by the tabs of one browser, and by no other origin', async () => {
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
