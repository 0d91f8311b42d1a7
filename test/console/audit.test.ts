/** The audit log in the console: one entry for each action, in words. */
import { expect } from 'bun:test';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests({ BAN_STRIKES: '2' });

testInBrowser('the audit log lists each action once, with the names of its objects', async () => {
  const { url, apiUrl, signedIn, addOperator, addAccount } = await given();
  const { account, key, keyId } = await addAccount('Named shop', 'enterprise', { perMinute: 1, perDay: 9 });
  const token = await addOperator('paul', 'admin');
  const send = async (method: string, path: string, body?: unknown) => {
    const isText = typeof body === 'string';
    const type = isText ? 'text/csv' : 'application/json';
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body !== undefined && { 'Content-Type': type }) },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
  };
  const csv = (name: string) => `name,categoryId,status\n${name},1,available\nMax,dog,available\n`;
  await send('POST', '/pets/import?format=csv&fileName=first.csv', csv('Rex'));
  await send('POST', '/pets/import?format=csv&fileName=second.csv', csv('Ozzy'));
  await send('POST', '/orders', { petId: 1 });
  await send('POST', `/accounts/${account.id}/keys`, { name: 'website', scopes: ['pets:read'] });
  const headers = { Authorization: `Bearer ${key}` };
  for (;;) {
    const answer = await fetch(`${apiUrl}/v1/pets`, { headers });
    if ((await answer.text()).includes('api_key_banned')) break;
  }
  await send('DELETE', `/bans/${keyId}`);

  const page = await signedIn(token, '/audit?actor=operator%3Apaul');
  await page.getByText('Placed order').waitFor();
  expect(await page.locator('.audit .what').allInnerTexts()).toEqual([
    `Lifted the ban on key ${keyId}`,
    `Issued key ${keyId + 1} (website)`,
    'Placed order 1 for animal 1',
    'Imported second.csv: 1 animal added, 1 row rejected',
    'Imported first.csv: 1 animal added, 1 row rejected',
  ]);
});
