/** The store contains webhook secrets only in encrypted form. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { tables } from '../../src/tables/tables.ts';
import { startTestApp } from '../support/app.ts';

test('a secret appears only in the responses that issue it, including replayed responses, and nowhere in the store', async () => {
  await using app = await startTestApp({ SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') });
  const headers = { 'Idempotency-Key': 'once' };
  const ask = () => app.call('POST', '/webhooks', { body: '{"url":"https://shop.example/"}', headers });
  const first = await ask();
  const { id, secret } = first.json as { readonly id: bigint; readonly secret: string };
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect((await ask()).text).toBe(first.text);
  const { storage } = app.operator;
  expect((await storage.webhooks.find(id))?.secret).toStartWith('enc1:');
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''), { readonly: true });
  const rows = tables.flatMap(({ name }) => database.query(`SELECT * FROM ${name}`).values());
  expect(rows.flat().filter((value) => String(value).includes(secret))).toEqual([]);
  expect(rows.flat().filter((value) => String(value).includes('enc1:'))).toHaveLength(2);
});
