/** Verification of webhooks, compared with the Standard Webhooks library. */
import { expect, spyOn, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { ArgumentError, type RawHeaders, verifyWebhook, WebhookError } from '../../client/src/index.ts';
import { rejectionOf } from '../support/rejection.ts';

const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', `whsec_${btoa('x'.repeat(64))}`] as const;
const [secret, other] = secrets;
const body =
  '{"id":9007199254740993,"type":"pet.created","timestamp":"2027-01-15T10:00:00.000Z","data":{"id":1,"name":"Søren 犬","categoryId":-9223372036854775808,"status":"sold"}}';
const id = 'evt_9007199254740993';

function signed(by: string = secret, ageSeconds = 0, content: string = body) {
  const at = new Date(Date.now() - ageSeconds * 1_000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(by).sign(id, at, content),
  };
}

/** Whether the Standard Webhooks library accepts the delivery. */
function isRightToTheStandard(headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

test('a delivery signed by the Standard Webhooks library is parsed with exact ids, for any type of headers and body', async () => {
  const headers = signed();
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  );
  const bytes = new TextEncoder().encode(`..${body}`);
  for (const each of [headers, upper, new Headers(headers)] satisfies RawHeaders[])
    for (const content of [body, bytes.subarray(2), bytes.slice(2).buffer]) {
      const event = await verifyWebhook(secret, each, content);
      expect(event).toMatchObject({ id: 9_007_199_254_740_993n, type: 'pet.created' });
      expect(event.data).toEqual({ id: 1n, name: 'Søren 犬', categoryId: -(2n ** 63n), status: 'sold' });
    }
});

test('during a rotation, one secret verifies a delivery with two signatures, and two secrets verify a delivery with one signature', async () => {
  const first = signed();
  const both = {
    ...first,
    'webhook-signature': `v1a,x v1,%% ${signed(other)['webhook-signature']} ${first['webhook-signature']}`,
  };
  for (const each of secrets) expect(await verifyWebhook(each, both, body)).toBeDefined();
  for (const each of secrets) expect(await verifyWebhook(secrets, signed(each), body)).toBeDefined();
});

test('the signature of a body is computed once per secret, and only 16 signatures are compared', async () => {
  const { 'webhook-signature': signature, ...rest } = signed();
  const after = (count: number) => ({
    ...rest,
    'webhook-signature': `${'v1,AAAA '.repeat(count)}${signature}`,
  });
  expect(await verifyWebhook(secret, after(15), body)).toBeDefined();
  using sign = spyOn(crypto.subtle, 'sign');
  using verify = spyOn(crypto.subtle, 'verify');
  expect(await rejectionOf(verifyWebhook(secrets, after(2_000), body))).toBeInstanceOf(WebhookError);
  expect(sign.mock.calls.length + verify.mock.calls.length).toBe(2);
});

test('the timestamp of a delivery may be up to five minutes early or late', async () => {
  for (const age of [-240, 240]) expect(await verifyWebhook(secret, signed(secret, age), body)).toBeDefined();
});

const right = signed();
const wrong: Readonly<Record<string, Record<string, string>>> = {
  'a signature with another secret': signed(other),
  'a changed body': signed(secret, 0, `${body} `),
  'a changed id': { ...right, 'webhook-id': 'evt_1' },
  'a truncated signature': { ...right, 'webhook-signature': right['webhook-signature'].slice(0, -4) },
  'a signature of another version': {
    ...right,
    'webhook-signature': right['webhook-signature'].replace('v1', 'v2'),
  },
  'a signature that is not base64': { ...right, 'webhook-signature': 'v1,%%%' },
  'an old timestamp': signed(secret, 330),
  'a timestamp in the future': signed(secret, -330),
  'a timestamp that is not a number': { ...right, 'webhook-timestamp': 'now' },
  ...Object.fromEntries(
    Object.keys(right).map((name) => [
      `no ${name}`,
      Object.fromEntries(Object.entries(right).filter(([each]) => each !== name)),
    ]),
  ),
};

test.each(Object.entries(wrong))(
  'a delivery with %s causes a WebhookError, and the library rejects it',
  async (_, headers) => {
    expect(isRightToTheStandard(headers)).toBe(false);
    const error = await rejectionOf(verifyWebhook(secret, headers, body));
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({ code: 'webhook_rejected', status: undefined });
  },
);

test('an invalid secret causes an ArgumentError, and a missing secret causes a WebhookError', async () => {
  const invalid = [undefined, '', 'whsec_', 'whsec_%%', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
  for (const each of [...invalid, [secret, undefined]])
    expect(await rejectionOf(verifyWebhook(each, signed(), body))).toBeInstanceOf(ArgumentError);
  expect(await rejectionOf(verifyWebhook([], signed(), body))).toBeInstanceOf(WebhookError);
});
