/** The console in different deployments: behind a TLS proxy, with workers, and with PostgreSQL and Redis. */

import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { AdminServices } from '../../src/app/app.ts';
import { createOperator } from '../../src/operations/admin/operators.ts';
import { pagesOf, TestBrowser, type TestPages } from '../support/browser.ts';
import { makeCertificate, openssl } from '../support/certificates.ts';
import { startCluster } from '../support/cluster.ts';
import { startConsole } from '../support/console.ts';
import { temporaryFolder } from '../support/folder.ts';
import { consoleOf, makeStore, operatorOf, type Running, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import { until } from '../support/wait.ts';
import { testInBrowser } from './given.ts';

/** A test that requires a browser and OpenSSL, and reports which of the two is missing. */
const testBehindTls = testInBrowser === test ? testWith(...openssl) : testInBrowser;

const browser = new TestBrowser(['admin.test']);
afterAll(() => browser[Symbol.asyncDispose]());

interface Place {
  readonly page: Page;
  readonly pages: TestPages;
  readonly token: string;
  /** URL of the client API. */
  readonly apiUrl: string;
}

/** Typical operator tasks that depend on the store, the workers or the proxy. */
async function workADay({ page, pages, token, apiUrl }: Place): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Token').press('Enter');
  await page.getByRole('link', { name: 'Accounts' }).click();
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Corner shop');
  await page.getByLabel('Plan', { exact: true }).selectOption('enterprise');
  await page.getByLabel('Requests per minute').fill('1');
  await page.getByLabel('Requests per day').fill('1000');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('button', { name: 'Issue key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('till');
  await page.getByRole('dialog').getByRole('button', { name: 'Issue key' }).click();
  await page.getByRole('button', { name: "I've saved it" }).waitFor();
  const key = await page.getByRole('dialog').locator('code').innerText();
  await page.getByRole('button', { name: "I've saved it" }).click();
  const ask = () => fetch(`${apiUrl}/v1/pets`, { headers: { Authorization: `Bearer ${key}` } });
  await until(async () => (await ask()).status === 200);
  await until(async () => (await (await ask()).text()).includes('api_key_banned'));
  await page.getByRole('link', { name: 'Bans' }).click();
  await page.getByRole('button', { name: /^Lift ban on key \d+ \(till, / }).click();
  await page.getByText('No keys are banned').waitFor();

  await page.getByRole('link', { name: 'Animals' }).click();
  await page.getByRole('link', { name: 'Import' }).click();
  const buffer = Buffer.from('name,categoryId,status\nRex,1,available\nNemo,dog,\n');
  await page.locator('input[type=file]').setInputFiles({ name: 'pets.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Import 1 row' }).click();
  await page.getByText('1 animal added and 1 line rejected').waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('Live').waitFor();
  await page.getByText(/^[1-9]\d* in the last 5 minutes$/).waitFor();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('Imported').first().waitFor();
  await page.getByRole('link', { name: 'System' }).click();
  await page.getByRole('cell', { name: 'DATABASE_URL' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  expect(await pages.closePages()).toEqual([]);
}

async function adminOf(operator: AdminServices): Promise<string> {
  return (await createOperator(operator, 'dora', 'admin')).token;
}

async function placeOf(service: Running & { readonly url: string }, operator: AdminServices): Promise<Place> {
  const url = await consoleOf(service);
  const pages = pagesOf(browser, url);
  const page = await pages.openPage();
  await page.goto(url);
  return { page, pages, token: await adminOf(operator), apiUrl: service.url };
}

const settings = { BAN_STRIKES: '3', BAN_FIRST_SECONDS: '3600', ADMIN_PORT: '0', DRAIN_SECONDS: '0' };

describe("the console supports a day of an operator's work", () => {
  testInBrowser('with workers, where only the supervisor serves the console', async () => {
    await using folder = await temporaryFolder();
    await makeStore(folder.path);
    await using service = await startService(folder.path, { ...settings, WORKERS: '2' });
    await using operator = await operatorOf(folder.path);
    await workADay(await placeOf(service, operator));
  });

  testInBrowser('with workers on PostgreSQL and Redis', async () => {
    await using cluster = await startCluster({ instances: 1, environment: { ...settings, WORKERS: '2' } });
    const service = cluster?.instances[0];
    if (cluster && service) await workADay(await placeOf(service, cluster.operator));
  });

  testBehindTls('behind a TLS proxy, with a secure session cookie that is bound to the host', async () => {
    await using folder = await temporaryFolder();
    await using proxy = await startTlsProxy(await makeCertificate(folder.path, 'admin.test'));
    const origin = `https://admin.test:${proxy.port}`;
    await using console = await startConsole({ ...settings, ADMIN_ORIGIN: origin });
    proxy.leadTo(console.app.console?.port ?? 0);
    const pages = pagesOf(browser, origin);
    const page = await pages.openPage({ ignoreHTTPSErrors: true });
    await page.goto(origin);
    const token = await console.addOperator('tess', 'admin');
    const signedIn = page.waitForResponse((answer) => answer.request().method() === 'POST');
    const work = workADay({ page, pages, token, apiUrl: console.apiUrl });
    const { 'set-cookie': cookie = '' } = await (await signedIn).allHeaders();
    expect(cookie).toMatch(/^__Host-.*; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/);
    await work;
    const tunnel = pagesOf(browser, `http://127.0.0.1:${console.app.console?.port}`);
    const local = await tunnel.signedIn(token, '/accounts');
    await local.getByRole('heading', { name: 'Accounts' }).waitFor();
    expect((await local.context().cookies()).map(({ name }) => name)).toEqual([
      '__Host-animal-store-session',
    ]);
    expect(await tunnel.closePages()).toEqual([]);
  });
});
