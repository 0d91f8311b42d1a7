/** Merging versions reported by Redis and PostgreSQL. */
import { afterEach, beforeEach, describe, expect, mock, spyOn, test } from 'bun:test';
import { mapVersions, resources, type Versions } from '../../src/domain/resources.ts';
import { maxStaleMs, SharedVersions } from '../../src/domain/shared-versions.ts';

const at = (callers: number, pets: number): Versions => ({ ...mapVersions(() => 1), callers, pets });
const now = () => performance.now();

// Stops the clock.
beforeEach(() => void spyOn(performance, 'now').mockImplementation(() => 77_000));
afterEach(() => mock.restore());

/** The versions of a process that received equal versions from PostgreSQL and each shard of Redis. */
function settled(shards: readonly { lastReported: Versions }[] = [redis]): SharedVersions {
  const versions = new SharedVersions();
  versions.applyPostgres(at(10, 20), now());
  for (const shard of shards) versions.applyRedis(Object.assign(shard, unheard()), at(10, 20));
  return versions;
}

const unheard = () => ({ lastReported: mapVersions(() => -1) });
const redis = unheard();

test('a change that both servers report produces one new version', () => {
  for (const what of resources) {
    for (const firstFromRedis of [true, false]) {
      const versions = settled();
      const before = versions.now;
      const received = { ...at(10, 20), [what]: 21 };
      if (firstFromRedis) versions.applyRedis(redis, received);
      else versions.applyPostgres(received, now());
      const after = versions.now;
      expect(after).toEqual({ ...before, [what]: before[what] + 1 });
      if (firstFromRedis) versions.applyPostgres(received, now());
      else versions.applyRedis(redis, received);
      expect(versions.now).toEqual(after);
    }
  }
});

test('an older version reported by a server counts as a change, for example after a restore, a failover or data loss in Redis', () => {
  const versions = settled();
  const before = versions.now;
  const { callers, pets } = before;
  const seen = (risenCallers: number, risenPets: number) => ({
    ...before,
    callers: callers + risenCallers,
    pets: pets + risenPets,
  });
  versions.applyRedis(redis, at(0, 0));
  expect(versions.now).toEqual(seen(1, 1));
  versions.applyRedis(redis, at(10, 20));
  versions.applyPostgres(at(9, 19), now());
  expect(versions.now).toEqual(seen(2, 2));
  versions.applyRedis(redis, at(9, 22));
  expect(versions.now).toEqual(seen(2, 3));
});

test('an outdated response from PostgreSQL does not count as a change', () => {
  const versions = settled();
  const askedAt = now() - 1;
  versions.applyRedis(redis, at(10, 22));
  const after = versions.now;
  versions.applyPostgres(at(10, 21), askedAt);
  versions.applyPostgres(at(10, 22), now());
  expect(versions.now).toEqual(after);
});

test('without Redis, a cached caller is valid while PostgreSQL reports no change, or for one second if PostgreSQL does not respond', () => {
  const versions = settled();
  expect(versions.isFresh(versions.fallback().callers)).toBe(true);
  expect(versions.isFresh(versions.now.callers - 1)).toBe(false);
  versions.applyPostgres(at(11, 20), now());
  expect(versions.isFresh(versions.now.callers)).toBe(true);
  versions.applyPostgres(at(11, 20), now() - maxStaleMs);
  expect(versions.isConfirmed).toBe(false);
  expect(versions.isFresh(versions.now.callers)).toBe(false);
  const read = versions.fallback().callers;
  expect(versions.isFresh(read)).toBe(true);
  expect(versions.isFresh(read + maxStaleMs + 1)).toBe(false);
});

test('without Redis, no cached page is valid', () => {
  const versions = settled();
  for (const what of resources.filter((resource) => resource !== 'callers')) {
    const pages = [versions.fallback()[what], versions.fallback()[what], versions.now[what]];
    expect(new Set(pages).size).toBe(pages.length);
  }
});

describe('with several shards', () => {
  const shards = [unheard(), unheard(), unheard()] as const;
  const [one, two, three] = shards;

  test('a change produces one version, whichever shard reports it first', () => {
    const versions = settled(shards);
    const { pets } = versions.now;
    for (const shard of shards) versions.applyRedis(shard, at(10, 21));
    versions.applyPostgres(at(10, 21), now());
    expect(versions.now.pets).toBe(pets + 1);
  });

  test('a change that one shard reports later than another is not counted again', () => {
    const versions = settled(shards);
    const { pets } = versions.now;
    versions.applyRedis(one, at(10, 22));
    versions.applyRedis(two, at(10, 21));
    versions.applyRedis(two, at(10, 22));
    expect(versions.now.pets).toBe(pets + 1);
    versions.applyRedis(three, at(10, 23));
    expect(versions.now.pets).toBe(pets + 2);
  });

  test('data loss in a shard counts as a change, but the recovery of the data does not', () => {
    const versions = settled(shards);
    const { pets } = versions.now;
    versions.applyRedis(one, at(10, 0));
    expect(versions.now.pets).toBe(pets + 1);
    versions.applyRedis(one, at(10, 20));
    versions.applyRedis(two, at(10, 20));
    expect(versions.now.pets).toBe(pets + 1);
    versions.applyRedis(two, at(10, 19));
    expect(versions.now.pets).toBe(pets + 2);
  });

  test('versions of a restored PostgreSQL database count as changes, even if the shards have higher versions', () => {
    const versions = settled(shards);
    const { pets } = versions.now;
    versions.applyPostgres(at(10, 15), now() + 1);
    expect(versions.now.pets).toBe(pets + 1);
    versions.applyRedis(one, at(10, 21));
    expect(versions.now.pets).toBe(pets + 2);
    versions.applyPostgres(at(10, 16), now() + 1);
    expect(versions.now.pets).toBe(pets + 3);
    versions.applyRedis(two, at(10, 21));
    expect(versions.now.pets).toBe(pets + 4);
  });
});
