/** The minimum version that a replica's data must have. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { mapVersions, type Versions } from '../../src/domain/resources.ts';
import { SharedVersions } from '../../src/domain/shared-versions.ts';

let nowMs = 0;
beforeEach(() => void spyOn(performance, 'now').mockImplementation(() => nowMs));
afterEach(() => mock.restore());

const all = (version: number): Versions => mapVersions(() => version);

/** The state of a process that received a version from both servers. Each step takes a millisecond. */
function settledAt(version: number) {
  const versions = new SharedVersions();
  const shard = { lastReported: all(-1) };
  const required = () => versions.required.of('pets');
  const step = <T>(run: () => T): T => {
    nowMs++;
    return run();
  };
  const redis = (received: number) => step(() => versions.applyRedis(shard, all(received)));
  const postgres = (received: number, askedAt = nowMs) =>
    step(() => versions.applyPostgres(all(received), askedAt));
  redis(version);
  step(() => undefined);
  postgres(version);
  return { versions, required, redis, postgres, step };
}

test('the minimum replica version is unknown until both servers have responded', () => {
  const versions = new SharedVersions();
  expect(versions.required.of('pets')).toBe(Number.POSITIVE_INFINITY);
});

test('the minimum replica version increases as soon as Redis announces a change', () => {
  const { required, redis } = settledAt(100);
  expect(required()).toBe(100);
  redis(200);
  expect(required()).toBe(200);
});

test("the minimum replica version is not lowered by PostgreSQL's response to an earlier query", () => {
  const { required, redis, postgres } = settledAt(100);
  const askedAt = nowMs;
  redis(200);
  postgres(150, askedAt);
  expect(required()).toBe(200);
});

test("the minimum replica version is corrected by PostgreSQL's next response if Redis has announced a change that PostgreSQL does not have", () => {
  const { required, redis, postgres, step } = settledAt(100);
  redis(101);
  step(() => undefined);
  postgres(100);
  expect(required()).toBe(100);
});

test('after Redis has lost its data, the minimum replica version is unknown until PostgreSQL responds', () => {
  const { required, redis, postgres, step } = settledAt(100);
  redis(0);
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  redis(1);
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  step(() => undefined);
  postgres(300);
  expect(required()).toBe(300);
});

test('for each request that Redis did not count, the minimum replica version is unknown', () => {
  const { versions, required, postgres, step } = settledAt(100);
  step(() => versions.fallback());
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  step(() => undefined);
  postgres(100);
  expect(required()).toBe(100);
  step(() => versions.fallback());
  expect(required()).toBe(Number.POSITIVE_INFINITY);
});

test('after a change with an indeterminate outcome, the minimum replica version is unknown', () => {
  const { versions, required, step } = settledAt(100);
  step(() => versions.required.raise('pets', 0));
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  expect(versions.required.of('orders')).toBe(100);
});

test('after a failover that loses changes, the minimum replica version is that of the new primary', () => {
  const { required, postgres, step } = settledAt(100);
  step(() => undefined);
  postgres(50);
  expect(required()).toBe(50);
});
