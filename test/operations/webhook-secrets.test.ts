/** Secrets of webhooks are sealed wherever the store keeps them. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { ClientOperations } from '../../src/operations/client-operations.ts';
import { tables } from '../../src/tables/tables.ts';
import { startTestApp } from '../support/app.ts';
import { answerOf } from '../support/call.ts';
import { clientParts, requestContextOf, serve } from '../support/request-context.ts';

const seal = (secret: string) => `sealed "${Buffer.from(secret).toString('hex')}"`;
const open = (sealed: string) => Buffer.from(sealed.slice('sealed "'.length, -1), 'hex').toString();

test('a secret is in the responses that issue it, repeated ones included, and nowhere in the store', async () => {
  await using app = await startTestApp();
  const operations = new ClientOperations({ ...clientParts(app), seal, open });
  await using server = serve({ ...requestContextOf(app), operations });
  const headers = { 'Idempotency-Key': 'once' };
  const options = { key: app.key, body: '{"url":"https://shop.example/"}', headers };
  const ask = () => answerOf(server.url, 'POST', '/webhooks', options);
  const first = await ask();
  const { secret } = first.json as { readonly secret: string };
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect((await ask()).text).toBe(first.text);
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''), { readonly: true });
  const stored = tables
    .map(({ name }) => JSON.stringify(database.query(`SELECT * FROM ${name}`).all()))
    .join('');
  expect(stored).not.toContain(secret);
  expect(stored.split(Buffer.from(secret).toString('hex'))).toHaveLength(3);
});
