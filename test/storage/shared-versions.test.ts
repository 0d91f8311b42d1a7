/** One version of what Redis and PostgreSQL tell. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { resources, type Versions, versionsFrom } from '../../src/domain/resources.ts';
import { SharedVersions, staleAtMostMs } from '../../src/storage/shared-versions.ts';

const at = (callers: number, pets: number): Versions => ({ ...versionsFrom(() => 1), callers, pets });
const now = () => performance.now();

// No time passes.
beforeEach(() => void spyOn(performance, 'now').mockImplementation(() => 77_000));
afterEach(() => mock.restore());

/** Versions of a process that has heard the same from both. */
function settled(): SharedVersions {
  const versions = new SharedVersions();
  versions.hearPostgres(at(10, 20), now());
  versions.hearRedis(at(10, 20));
  return versions;
}

test('a change is a new version, whichever way word of it comes, and one version although it comes both ways', () => {
  for (const what of resources) {
    for (const firstFromRedis of [true, false]) {
      const versions = settled();
      const before = versions.now;
      const told = { ...at(10, 20), [what]: 21 };
      if (firstFromRedis) versions.hearRedis(told);
      else versions.hearPostgres(told, now());
      const after = versions.now;
      expect(after).toEqual({ ...before, [what]: before[what] + 1 });
      if (firstFromRedis) versions.hearPostgres(told, now());
      else versions.hearRedis(told);
      expect(versions.now).toEqual(after);
    }
  }
});

test('a server that went back in time is a change, too: a restored backup, a replica, a Redis that lost its memory', () => {
  const versions = settled();
  const before = versions.now;
  const { callers, pets } = before;
  const seen = (risenCallers: number, risenPets: number) => ({
    ...before,
    callers: callers + risenCallers,
    pets: pets + risenPets,
  });
  versions.hearRedis(at(0, 0));
  expect(versions.now).toEqual(seen(1, 1));
  versions.hearRedis(at(10, 20));
  versions.hearPostgres(at(9, 19), now());
  expect(versions.now).toEqual(seen(2, 2));
  versions.hearRedis(at(9, 22));
  expect(versions.now).toEqual(seen(2, 3));
});

test('an answer of PostgreSQL that Redis overtook is no change', () => {
  const versions = settled();
  const askedAt = now() - 1;
  versions.hearRedis(at(10, 22));
  const after = versions.now;
  versions.hearPostgres(at(10, 21), askedAt);
  versions.hearPostgres(at(10, 22), now());
  expect(versions.now).toEqual(after);
});

test('without Redis a caller is believed while PostgreSQL tells that none changed, and a second without its word', () => {
  const versions = settled();
  expect(versions.isFresh(versions.fallback().callers)).toBe(true);
  expect(versions.isFresh(versions.now.callers - 1)).toBe(false);
  versions.hearPostgres(at(11, 20), now());
  expect(versions.isFresh(versions.now.callers)).toBe(true);
  versions.hearPostgres(at(11, 20), now() - staleAtMostMs);
  expect(versions.isConfirmed).toBe(false);
  expect(versions.isFresh(versions.now.callers)).toBe(false);
  const read = versions.fallback().callers;
  expect(versions.isFresh(read)).toBe(true);
  expect(versions.isFresh(read + staleAtMostMs + 1)).toBe(false);
});

test('without Redis no page is believed', () => {
  const versions = settled();
  for (const what of resources.filter((resource) => resource !== 'callers')) {
    const pages = [versions.fallback()[what], versions.fallback()[what], versions.now[what]];
    expect(new Set(pages).size).toBe(pages.length);
  }
});
