/** What is sent to webhooks from the command line. */
import { expect, test } from 'bun:test';
import { newWorkplace } from '../support/cli.ts';
import { addDeliveries, addWebhook, failedDelivery } from '../support/webhooks.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';

test('webhooks test sends a request and prints its outcome without the response', async () => {
  await using place = await newWorkplace();
  await using receiver = await startReceiver((socket) => socket.write(response('503 Busy', 'private')));
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  await addWebhook(`sqlite:${place.path('store.db')}`, {
    accountId: 1,
    url: `http://127.0.0.1:${receiver.port}/`,
  });
  const environment = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' };
  const { stdout } = await place.run(['webhooks', 'test', '1'], { environment });
  expect(stdout).toMatch(/^The receiver responded with 503 \(\d+ ms\)\.\n$/);
  const json = await place.run(['webhooks', 'test', '1', '--json'], { environment });
  expect(JSON.parse(json.stdout)).toEqual({ status: 503, milliseconds: expect.any(Number) });
  expect(receiver.requests).toHaveLength(2);
  const blocked = await place.run(['webhooks', 'test', '1']);
  expect(blocked.stdout).toMatch(/^The URL .* \(\d+ ms\)\.\n$/);
});

test('webhooks redeliver says what will be sent, and refuses to send to a disabled webhook', async () => {
  await using place = await newWorkplace();
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  const url = `sqlite:${place.path('store.db')}`;
  await addWebhook(url, { accountId: 1 });
  await addDeliveries(url, [failedDelivery(1n, 1n, Date.now())]);
  const redeliver = ['webhooks', 'redeliver', '1', '--after', '0'];
  expect((await place.run(redeliver)).stdout).toBe('The events will be sent to webhook 1 again.\n');
  const { stdout } = await place.run(['webhooks', 'redeliver-delivery', '1', '1']);
  expect(stdout).toMatch(/^ID .*\n2 +1 +order\.placed +pending +0 /);
  await place.run(['webhooks', 'disable', '1', '--reason', 'Overloaded.']);
  const refused = await place.run(redeliver);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('The webhook is disabled. Enable it first.');
});
