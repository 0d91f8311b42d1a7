import { describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { generateWebhookSecret, signHeaders } from '../../src/webhooks/signature.ts';
import { randomFrom } from '../support/random.ts';

const random = randomFrom(23);
const someBytes = (count: number) => Uint8Array.from({ length: count }, () => random() * 256);
const [first, second, other] = [0, 1, 2].map(() => generateWebhookSecret(someBytes)) as [
  string,
  string,
  string,
];
const body = '{"id":9007199254740993,"type":"pet.created","data":{"name":"Bösi 🐶"}}';
// Uses the current time, because the library compares the timestamp with the system clock.
const message = { eventId: 9_007_199_254_740_993n, body, nowMs: Date.now() };

const verify = (secret: string, text: string, headers: Record<string, string>) => () =>
  new Webhook(secret).verify(text, headers);

describe('the Standard Webhooks library', () => {
  test.each([
    ['by one secret', [first], [first]],
    ['by each of two secrets', [first, second], [first, second]],
  ])('verifies a message signed %s', (_, secrets, verifying) => {
    const headers = signHeaders(message, secrets);
    for (const secret of verifying) expect(verify(secret, body, headers)()).toEqual(JSON.parse(body));
    const bytes = signHeaders({ ...message, body: Buffer.from(body) }, secrets);
    expect(bytes).toEqual(headers);
  });

  test('rejects a message with a different secret, body, id or time', () => {
    const headers = signHeaders(message, [first, second]);
    expect(verify(other, body, headers)).toThrow('No matching signature');
    expect(verify(first, `${body} `, headers)).toThrow('No matching signature');
    expect(verify(first, body, { ...headers, 'webhook-id': 'evt_1' })).toThrow('No matching signature');
    const old = signHeaders({ ...message, nowMs: message.nowMs - 3_600_000 }, [first]);
    expect(verify(first, body, old)).toThrow('timestamp too old');
  });
});

test("a message has the event's id, and its timestamp is in seconds", () => {
  const headers = signHeaders({ ...message, nowMs: 1_700_000_000_999 }, [first, second]);
  expect(headers).toMatchObject({ 'webhook-id': 'evt_9007199254740993', 'webhook-timestamp': '1700000000' });
  expect(headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
});

test('a webhook secret has 32 random bytes', () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
  const secret = generateWebhookSecret((count) => bytes.slice(0, count));
  expect(secret).toBe(`whsec_${Buffer.from(bytes).toString('base64')}`);
});
