/** The minimum version of a replica's data. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { type Versions, versionsFrom } from '../../src/domain/resources.ts';
import { SharedVersions } from '../../src/storage/shared-versions.ts';

let nowMs = 0;
beforeEach(() => void spyOn(performance, 'now').mockImplementation(() => nowMs));
afterEach(() => mock.restore());

const all = (version: number): Versions => versionsFrom(() => version);

/** The state of a process that received a version from both servers. Each step takes a millisecond. */
function settledAt(version: number) {
  const versions = new SharedVersions();
  const shard = { lastReported: all(-1) };
  const required = () => versions.required.of('pets');
  const step = <T>(run: () => T): T => {
    nowMs++;
    return run();
  };
  const redis = (told: number) => step(() => versions.applyRedis(shard, all(told)));
  const postgres = (told: number, askedAt = nowMs) => step(() => versions.applyPostgres(all(told), askedAt));
  redis(version);
  step(() => undefined);
  postgres(version);
  return { versions, required, redis, postgres, step };
}

test('is unknown until both servers have responded', () => {
  const versions = new SharedVersions();
  expect(versions.required.of('pets')).toBe(Number.POSITIVE_INFINITY);
});

test('is raised as soon as Redis announces a change', () => {
  const { required, redis } = settledAt(100);
  expect(required()).toBe(100);
  redis(200);
  expect(required()).toBe(200);
});

test("is not lowered by PostgreSQL's answer to a query sent before the announcement", () => {
  const { required, redis, postgres } = settledAt(100);
  const askedAt = nowMs;
  redis(200);
  postgres(150, askedAt);
  expect(required()).toBe(200);
});

test("is replaced by PostgreSQL's next answer if no change in PostgreSQL has it", () => {
  const { required, redis, postgres, step } = settledAt(100);
  redis(101);
  step(() => undefined);
  postgres(100);
  expect(required()).toBe(100);
});

test('is unknown after Redis has lost its data until PostgreSQL responds, although Redis keeps counting', () => {
  const { required, redis, postgres, step } = settledAt(100);
  redis(0);
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  redis(1);
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  step(() => undefined);
  postgres(300);
  expect(required()).toBe(300);
});

test('is unknown for each request that Redis did not count', () => {
  const { versions, required, postgres, step } = settledAt(100);
  step(() => versions.fallback());
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  step(() => undefined);
  postgres(100);
  expect(required()).toBe(100);
  step(() => versions.fallback());
  expect(required()).toBe(Number.POSITIVE_INFINITY);
});

test('is unknown after a change of unknown outcome', () => {
  const { versions, required, step } = settledAt(100);
  step(() => versions.required.raise('pets', 0));
  expect(required()).toBe(Number.POSITIVE_INFINITY);
  expect(versions.required.of('orders')).toBe(100);
});

test('is that of a new primary that lacks changes, once it has responded', () => {
  const { required, postgres, step } = settledAt(100);
  step(() => undefined);
  postgres(50);
  expect(required()).toBe(50);
});
