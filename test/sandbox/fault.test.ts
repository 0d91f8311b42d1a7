/** Syntax and validation of faults. */
import { describe, expect, test } from 'bun:test';
import { type Fault, faultNames, parseFault } from '../../sandbox/fault.ts';
import { RequestedFault } from '../../sandbox/faults.ts';
import { clientErrors } from '../../src/contract/errors.ts';

test.each<[string, Partial<Fault>]>([
  ['status=503', { status: 503 }],
  ['status=429; retry-after=3', { status: 429, retryAfter: 3 }],
  ['code=pet_reserved', { status: 409, code: 'pet_reserved' }],
  ['delay=1500ms', { delayMs: 1_500 }],
  ['delay=2s;cut=after', { delayMs: 2_000, cut: 'after' }],
  ['ban=60s', { banSeconds: 60 }],
  ['remaining=0', { remaining: 0 }],
  ['slow-body=100ms ;', { slowBodyMs: 100 }],
  ['Reply=html-502', { reply: 'html-502' }],
  ['webhook=out-of-order; times=1', { webhook: 'out-of-order', times: 1 }],
  ['webhook-delay=2s', { webhookDelayMs: 2_000 }],
  [
    'status=500; rate=0.2; seed=7; times=3; operation=createPet',
    { rate: 0.2, seed: 7, times: 3, operation: 'createPet' },
  ],
])('the fault "%s" can be parsed', (text, meant) => {
  expect(parseFault(text)).toMatchObject({ text, ...meant });
});

test.each(Object.entries(faultNames))(
  'the documented example of the fault %s can be parsed',
  (_name, { example }) => {
    const complete = [example, `${example}; status=429`, `${example}; status=503; rate=0.5`];
    const understood = complete.filter((text) => {
      try {
        return parseFault(text) !== undefined;
      } catch {
        return false;
      }
    });
    expect(understood).not.toEqual([]);
  },
);

describe('an invalid fault is rejected with an error that states the reason', () => {
  test.each<[string, RegExp]>([
    ['', /has no effect\. Add one of status/],
    ['rate=0.5', /has no effect/],
    ['nonsense', /"nonsense" is not a fault\. Faults are status=503, /],
    ['statsu=503', /"statsu=503" is not a fault/],
    ['__proto__=1', /"__proto__=1" is not a fault/],
    ['constructor=1', /"constructor=1" is not a fault/],
    ['status=503; Status=500', /"status" is given more than once/],
    ['status=409; operation=listPets', /listPets never responds with 409\. Its errors are /],
    ['code=pet_reserved; operation=createPet', /createPet never responds with pet_reserved/],
    ['slow-body=1s; operation=deletePet', /A successful deletePet response has no body/],
    ['reply=half-body; operation=deletePet', /A successful deletePet response has no body/],
    ['reply=html', /"reply" must be one of html-502, /],
    ['reply=html-502; cut=after', /"cut" and "reply" are mutually exclusive/],
    ['status=503, delay=1s', /"status" must be an error status of the API: 400, /],
    ['status=200', /"status" must be an error status/],
    ['code=teapot', /"code" must be an error code of the API: invalid_json, /],
    ['code=pet_reserved; status=503', /pet_reserved belongs to status 409/],
    ['status=503; cut=after', /"status" and "cut" are mutually exclusive/],
    ['ban=1s; remaining=2', /"ban" and "remaining" are mutually exclusive/],
    ['status=404; retry-after=3', /Only 429 and 503 have Retry-After/],
    ['status=429; retry-after=61', /resets within 60 s\. Add code=daily_quota_exceeded/],
    ['cut=between', /"cut" must be before or after/],
    ['cut=after; slow-body=1s', /"slow-body" needs a response/],
    ['delay=5', /"delay" must be a duration of at most 600s/],
    ['delay=11m', /"delay" must be a duration of at most 600s/],
    ['slow-body=0ms', /"slow-body" must be a duration of at most 10s/],
    ['remaining=-1', /"remaining" must be a whole number from 0/],
    ['status=503; rate=0', /"rate" must be above 0 and at most 1/],
    ['status=503; rate=1.5', /"rate" must be above 0 and at most 1/],
    ['status=503; seed=7', /"seed" requires a rate/],
    ['webhook=late', /"webhook" must be one of duplicate, out-of-order, wrong-signature, old-timestamp/],
    ['webhook-delay=31s', /"webhook-delay" must be a duration of at most 30s/],
    ['webhook=duplicate; status=503', /"webhook" and "status" are mutually exclusive/],
    ['webhook=duplicate; webhook-delay=1s', /"webhook" and "webhook-delay" are mutually exclusive/],
    ['webhook=duplicate; operation=createPet', /"webhook" and "operation" are mutually exclusive/],
    ['status=503; times=0', /"times" must be a whole number from 1/],
    ['status=503; operation=feedPet', /"operation" must be one of listPets, /],
  ])('"%s"', (text, message) => {
    expect(() => parseFault(text)).toThrow(message);
  });
});

test('every error code and status of the API can be used as a fault', () => {
  for (const [code, { status }] of Object.entries(clientErrors)) {
    expect(parseFault(`code=${code}`).status).toBe(status);
    expect(parseFault(`status=${status}`).status).toBe(status);
  }
});

describe("a fault's rate", () => {
  const drawn = (text: string, count = 1_000) => {
    const asked = new RequestedFault(parseFault(text));
    return Array.from({ length: count }, () => asked.happens());
  };

  test('selects a fraction of the requests, and the same requests after every restart', () => {
    const hits = drawn('status=503; rate=0.2; seed=7');
    expect(hits).toEqual(drawn('status=503; rate=0.2; seed=7'));
    expect(hits.filter(Boolean).length).toBeWithin(150, 250);
  });

  test('selects different requests with a different seed', () => {
    expect(drawn('status=503; rate=0.2; seed=7')).not.toEqual(drawn('status=503; rate=0.2; seed=8'));
  });

  test('has no effect after the fault has occurred `times` times', () => {
    expect(drawn('status=503; rate=0.2; times=3').filter(Boolean)).toHaveLength(3);
  });
});
