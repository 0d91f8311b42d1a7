/** One version of what Redis and PostgreSQL tell. */
import { expect, test } from 'bun:test';
import { SharedVersions, staleAtMostMs } from '../../src/storage/shared-versions.ts';

const at = (callers: number, pets: number) => ({ callers, pets });
const now = () => performance.now();

/** Versions of a process that has heard the same from both. */
function settled(): SharedVersions {
  const versions = new SharedVersions();
  versions.hearPostgres(at(10, 20), now());
  versions.hearRedis(at(10, 20));
  return versions;
}

test('a change is a new version, whichever way word of it comes, and one version although it comes both ways', () => {
  for (const firstFromRedis of [true, false]) {
    const versions = settled();
    const before = versions.now;
    if (firstFromRedis) versions.hearRedis(at(10, 21));
    else versions.hearPostgres(at(10, 21), now());
    const after = versions.now;
    expect(after).toEqual({ callers: before.callers, pets: before.pets + 1 });
    if (firstFromRedis) versions.hearPostgres(at(10, 21), now());
    else versions.hearRedis(at(10, 21));
    expect(versions.now).toEqual(after);
  }
});

test('a server that went back in time is a change, too: a restored backup, a replica, a Redis that lost its memory', () => {
  const versions = settled();
  const { callers, pets } = versions.now;
  versions.hearRedis(at(0, 0));
  expect(versions.now).toEqual(at(callers + 1, pets + 1));
  versions.hearRedis(at(10, 20));
  versions.hearPostgres(at(9, 19), now());
  expect(versions.now).toEqual(at(callers + 2, pets + 2));
  versions.hearRedis(at(9, 22));
  expect(versions.now).toEqual(at(callers + 2, pets + 3));
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
  const pages = [versions.fallback().pets, versions.fallback().pets, versions.now.pets];
  expect(new Set(pages).size).toBe(pages.length);
});
