import { expect, test } from 'bun:test';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import {
  attemptDelaysMs,
  delayAfter,
  evaluateAttempt,
  isGone,
  isSuccess,
  parseRetryAfter,
} from '../../src/webhooks/attempt.ts';

const hourMs = 3_600_000;
const delays = (random: number) =>
  Array.from({ length: 10 }, (_, index) => delayAfter(index + 1, 72 * hourMs, { status: 500 }, random));

test('a delivery has ten attempts, with the delays of the Standard Webhooks specification', () => {
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * hourMs);
  expect(attemptDelaysMs).toHaveLength(10);
  expect(delays(0.5)).toEqual([5_000, 300_000, 1_800_000, ...hours, undefined]);
});

test('jitter changes a retry delay by at most 10%', () => {
  expect(delays(0).slice(0, 2)).toEqual([4_500, 270_000]);
  expect(delays(1 - Number.EPSILON).slice(0, 2)).toEqual([5_500, 330_000]);
});

test('Retry-After is respected only on 429 and 503, and only if it is longer than the scheduled delay', () => {
  const after = (status: number, retryAfterSeconds: number) =>
    delayAfter(1, 0, { status, retryAfterSeconds }, 0.5);
  expect([after(429, 60), after(503, 60), after(500, 60)]).toEqual([60_000, 60_000, 5_000]);
  expect([after(429, 1), after(503, 0)]).toEqual([5_000, 5_000]);
  expect(delayAfter(10, 72 * hourMs, { status: 429, retryAfterSeconds: 60 }, 0.5)).toBeUndefined();
});

test('Retry-After is a number of seconds or an HTTP date, and is ignored in any other form', () => {
  const parse = (text: string) => parseRetryAfter(text, Date.UTC(2026, 10, 30, 12));
  const dates = [
    'Mon, 30 Nov 2026 12:01:00 GMT',
    'Monday, 30-Nov-26 12:01:00 GMT',
    'Mon Nov 30 12:01:00 2026 GMT',
  ];
  expect(['60', ...dates].map(parse)).toEqual([60, 60, 60, 60]);
  expect(['3600, 10', '2026-12-01', '1.5', '-1', '', 'soon'].map(parse)).toEqual(Array(6).fill(undefined));
});

test('redeliveries do not shorten the time for which a delivery is attempted', () => {
  const after = (hours: number) => delayAfter(10, hours * hourMs, { status: 500 }, 0.5);
  expect([after(0), after(24), after(67)]).toEqual([24 * hourMs, 24 * hourMs, 24 * hourMs]);
  expect([after(69), after(-1)]).toEqual([undefined, undefined]);
});

test('only a 2xx response is a success, and only a 410 disables the webhook', () => {
  const statuses = [101, 199, 200, 204, 299, 300, 304, 404, 410, 500];
  expect(statuses.filter((status) => isSuccess({ status }))).toEqual([200, 204, 299]);
  expect(statuses.filter((status) => isGone({ status }))).toEqual([410]);
  expect([isSuccess({}), isGone({})]).toEqual([false, false]);
});

test('a delivery lists its newest ten attempts, however often a changed URL makes it due again', () => {
  const delivery: Omit<LeasedDelivery, 'attempts'> = {
    ...{ id: 1n, webhookId: 1n, accountId: 1, eventId: 1n, type: 'pet.created' as const },
    ...{ createdAt: 0, leasedUntil: 60_000, url: '', isSelected: true },
    ...{ secret: '', formerSecret: null, formerSecretUntil: null },
  };
  let attempts = '[]';
  for (let at = 0; at < 12; at++) {
    const outcome = { status: 410, milliseconds: 1, body: '', retryAfter: undefined };
    const times = { at, now: at, secretRetryAt: at, random: 0 };
    const { disabling } = evaluateAttempt({ ...delivery, attempts }, outcome, times);
    attempts = disabling?.otherwise.moved.attempts ?? '';
  }
  const listed = (JSON.parse(attempts) as { at: string }[]).map(({ at }) => Date.parse(at));
  expect(listed).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});
