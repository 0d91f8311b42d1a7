/** Commands that send deliveries to webhooks. */
import { expect, test } from 'bun:test';
import { encryptSecret } from '../../src/webhooks/secrets.ts';
import { generateWebhookSecret } from '../../src/webhooks/signature.ts';
import { newWorkplace } from '../support/cli.ts';
import { addDeliveries, addWebhook, failedDelivery } from '../support/webhooks.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';

test('webhooks test sends a request and prints the result, but not the response body', async () => {
  await using place = await newWorkplace();
  let status = '503 Busy';
  await using receiver = await startReceiver((socket) => socket.write(response(status, 'private')));
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  await addWebhook(`sqlite:${place.path('store.db')}`, {
    accountId: 1,
    url: `http://127.0.0.1:${receiver.port}/`,
  });
  const environment = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' };
  const { stdout, stderr, exitCode } = await place.run(['webhooks', 'test', '1'], { environment });
  expect(exitCode).toBe(1);
  expect(stderr).toBe('animal-store: The receiver did not accept the test event.\n');
  expect(stdout).toMatch(/^The receiver responded with 503 \(\d+ ms\)\.\n$/);
  const json = await place.run(['webhooks', 'test', '1', '--json'], { environment });
  expect(json.exitCode).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual({ status: 503, milliseconds: expect.any(Number) });
  status = '204 No Content';
  expect((await place.run(['webhooks', 'test', '1'], { environment })).exitCode).toBe(0);
  expect(receiver.requests).toHaveLength(3);
  const blocked = await place.run(['webhooks', 'test', '1']);
  expect(blocked.stdout).toMatch(/^The URL .* for networks in WEBHOOK_ALLOWED_NETWORKS \(\d+ ms\)\.\n$/);
});

test('webhooks redeliver prints the number of events to be sent, and fails for a disabled webhook', async () => {
  await using place = await newWorkplace();
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  const url = `sqlite:${place.path('store.db')}`;
  await addWebhook(url, { accountId: 1 });
  await addDeliveries(url, [failedDelivery(1n, 1n, Date.now())]);
  const redeliver = ['webhooks', 'redeliver', '1', '--after', '0'];
  // The account has no key that may read the events.
  expect((await place.run(redeliver)).stdout).toMatch(
    /^The events will be sent to webhook 1 again\. It is on hold: .*\.\n$/,
  );
  const { stdout } = await place.run(['webhooks', 'redeliver-delivery', '1', '1']);
  expect(stdout).toMatch(/^ID .*\n2 +1 +order\.placed +pending +0 /);
  await place.run(['webhooks', 'disable', '1', '--reason', 'Overloaded.']);
  const refused = await place.run(redeliver);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('The webhook is disabled. Enable it first.');
});

test('status reports deliveries that are waiting for the right SECRETS_KEY, and suggests a remedy', async () => {
  await using place = await newWorkplace();
  await place.run(['accounts', 'create', '--name', 'Shop', '--plan', 'free']);
  const bytes = (count: number) => Buffer.alloc(count, 7);
  const sealed = encryptSecret(generateWebhookSecret(bytes), [bytes(32)], bytes);
  await addWebhook(`sqlite:${place.path('store.db')}`, { accountId: 1, secret: sealed });
  const what =
    'Requests to 1 webhook cannot be signed, because their secrets are encrypted, and SECRETS_KEY is not set.';
  const { concerns } = await place.json<{ concerns: object[] }>('status');
  expect(concerns).toEqual([{ what, remedy: expect.stringContaining('Set SECRETS_KEY to the missing key') }]);
  expect(await place.output('status')).toStartWith(`${what}\nSet SECRETS_KEY to the missing key`);
});
