/** Sign-in limits and the expiry of codes do not depend on the date, which may be set back. */
import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { FailedSignIns } from '../../src/operations/sign-in/failed-sign-ins.ts';
import { OneTimeCode } from '../../src/operations/sign-in/one-time-code.ts';
import { FakeClock } from '../support/clock.ts';

const hour = 3_600;

test('a network may sign in again after a minute, even if the clock was set back by 25 hours', () => {
  const clock = new FakeClock();
  const failed = new FailedSignIns(clock);
  for (let tries = 0; tries < 10; tries++) failed.add('192.0.2.0/24');
  clock.step(-25 * hour);
  expect(failed.waitSeconds('192.0.2.0/24')).toBe(60);
  clock.advance(60);
  expect(failed.waitSeconds('192.0.2.0/24')).toBe(0);
});

test('a one-time code is valid for ten minutes, even if the clock was set back by 25 hours', () => {
  const clock = new FakeClock();
  const code = new OneTimeCode(clock, randomBytes);
  const made = code.create();
  clock.step(-25 * hour);
  clock.advance(600);
  expect(code.redeem(made)).toBe(false);
});
