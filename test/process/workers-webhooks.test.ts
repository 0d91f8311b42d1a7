/** Deliveries that operators trigger while the admin listener runs in the supervisor process. */
import { expect } from 'bun:test';
import { scopes } from '../../src/domain/scope.ts';
import { addOperatorTo, sendAdmin } from '../support/admin.ts';
import { consoleOf } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';
import { type WorkerStores, workersTests } from './worker-stores.ts';

const test = workersTests();

async function createWebhook(
  { operator: { storage, clock } }: WorkerStores,
  accountId: number,
  url: string,
  secret: string,
) {
  return storage.write('createWebhook', {
    body: { url, types: ['pet.created'] },
    caller: { accountId, scopes: ['webhooks:write', 'pets:read', 'events:read'] },
    endpoint: { mistake: undefined },
    events: await storage.events.bounds(),
    secret,
    now: clock.now(),
  });
}

test('test events and redelivered events reach the receiver', async (stores) => {
  await using receiver = await startReceiver((socket) => socket.write(response('202 Accepted', 'secret')));
  const { storage, accounts, keys } = stores.operator;
  const { id: accountId } = await accounts.create('shop', 'enterprise', { perMinute: 100, perDay: 100 });
  const { key } = await keys.create(accountId, 'till', null, [...scopes]);
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const webhook = await createWebhook(stores, accountId, `http://127.0.0.1:${receiver.port}/`, secret);
  const networks = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  await using service = await stores.startInstance({ ADMIN_PORT: '0', ...networks });
  const [url, { token }] = [await consoleOf(service), await addOperatorTo(storage, 'admin')];
  const post = (step: string, body?: object) =>
    sendAdmin(url, 'POST', `/webhooks/${webhook.id}/${step}`, { token, body });

  expect(await post('test')).toMatchObject({ status: 200, body: { status: 202 } });
  expect(receiver.requests[0]).toContain('webhook.test');

  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const pet = JSON.stringify({ name: 'Ozzy', categoryId: 1 });
  await fetch(`${service.url}/v1/pets`, { method: 'POST', headers, body: pet });
  const settled = async () =>
    (await storage.deliveries.list(undefined, 10, { webhookId: webhook.id, status: 'succeeded' })).length;
  await until(async () => (await settled()) === 1);
  const [delivery] = await storage.deliveries.list(undefined, 1, { webhookId: webhook.id });
  expect(await post(`deliveries/${delivery?.id}/redeliver`)).toMatchObject({ status: 202 });
  await until(async () => (await settled()) === 2);
  expect(await post('redeliver', { after: Number(delivery?.eventId) - 1 })).toMatchObject({ status: 202 });
  await until(async () => (await settled()) === 3);
  expect(receiver.requests).toHaveLength(4);
});

test('secrets that cannot be decrypted are reported once', async (stores) => {
  const { accountId } = await stores.issueKey();
  await createWebhook(stores, accountId, 'https://shop.example/', 'enc1:c2VhbGVk');
  await using service = await stores.startInstance();
  await until(() => service.stderr().includes('cannot be signed'));
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.stderr().match(/cannot be signed/g)).toHaveLength(1);
});
