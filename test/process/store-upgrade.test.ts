/** Different versions of the service use one store. A newer version must not change a store that is in use. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import { listBans } from '../../src/operations/admin/bans.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { newestFormat } from '../../src/storage/sqlite/migrations.ts';
import { oldKey, openLater, writeOldStore } from '../storage/old-store.ts';
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { countsIn } from '../support/limit-file.ts';
import { dataFileIn, limitFileIn, operatorOf, settingsIn, startService } from '../support/process.ts';

/**
 * State that a newer version must not change: data, format and tables. The usage records are omitted, because the
 * running service writes them.
 */
function stateOf(folder: string) {
  const data = dataFileIn(folder);
  return [
    createHash('sha256').update(readFileSync(data)).digest('hex'),
    rowsOf(data, 'PRAGMA user_version'),
    rowsOf(data, 'SELECT name, sql FROM sqlite_schema'),
    ...['pets', 'accounts', 'keys', 'orders'].map((table) => rowsOf(data, `SELECT * FROM ${table}`)),
    countsIn(limitFileIn(folder), 2),
  ];
}

const namesIn = (text: string) => (JSON.parse(text) as { name: string }[]).map(({ name }) => name);

test('a store of version 1.0.0 keeps its animals and its key, but its counts and bans are reset', async () => {
  await using folder = await temporaryFolder();
  const former = join(folder.path, 'store.limits.db');
  await writeOldStore(dataFileIn(folder.path), former);
  const bannedUntil = Math.floor(Date.now() / 1_000) + 100;
  rowsOf(former, `UPDATE conduct SET banned_until = ${bannedUntil}`);
  rowsOf(former, 'PRAGMA wal_checkpoint(TRUNCATE)');
  const before = readFileSync(former);
  await using service = await startService(folder.path);
  await service.logged(`migrated ${dataFileIn(folder.path)} from format 1 to ${newestFormat}`);
  const { status, text } = await clientOf(service.url, oldKey).get('/pets');
  expect([status, namesIn(text)]).toEqual([200, ['Ozzy', 'Großer Bär', '猫', 'imported']]);
  await using operator = await operatorOf(folder.path);
  expect(await listBans(operator.store)).toEqual([]);
  expect(countsIn(limitFileIn(folder.path), 1).day).toBe(1);
  expect(readFileSync(former)).toEqual(before);
});

test('a store that a service is using is not changed by a newer service or a newer command, which both fail', async () => {
  await using folder = await temporaryFolder();
  const path = dataFileIn(folder.path);
  await writeOldStore(path, join(folder.path, 'store.limits.db'));
  await using service = await startService(folder.path);
  const client = clientOf(service.url, oldKey);
  expect((await client.add('one more')).status).toBe(201);
  const before = stateOf(folder.path);
  expect(() => openLater(path, true)).toThrow(/^Another process is serving the store /);
  expect(() => openLater(path, false)).toThrow(
    /is in use by a service with format \d+; this version is newer and needs format \d+\. Upgrade or stop the service first/,
  );
  expect(stateOf(folder.path)).toEqual(before);
  expect((await client.add('and one more')).status).toBe(201);
  expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({ status: 'ready' });
});

test('"migrate" of a newer version upgrades a store that no service is using, even if it is started twice', async () => {
  await using folder = await temporaryFolder();
  const path = dataFileIn(folder.path);
  await writeOldStore(path, join(folder.path, 'store.limits.db'));
  await using _one = openLater(path, false);
  await using _two = openLater(path, false);
  expect(rowsOf(path, 'PRAGMA user_version')).toEqual([{ user_version: newestFormat + 1 }]);
  expect(rowsOf(path, 'SELECT * FROM of_tomorrow')).toEqual([]);
  // The upgraded store is newer than this version of the service.
  await expect(operatorOf(folder.path)).rejects.toThrow(/was written by a newer version of the service/);
});

test('a running command of an older version does not write to an upgraded store', async () => {
  await using folder = await temporaryFolder();
  const path = dataFileIn(folder.path);
  await writeOldStore(path, join(folder.path, 'store.limits.db'));
  await using older = await openAdminServices(readConfig(settingsIn(folder.path)), undefined, {
    migrates: true,
  });
  await using _newer = openLater(path, true);
  const pet = { name: 'late', categoryId: 1n, status: 'sold' } as const;
  const { storage } = older;
  const late = [
    storage.write('commitImport', { now: 0, pets: [pet] }),
    storage.write('createPet', { now: 0, body: pet }),
  ];
  for (const { reason } of (await Promise.allSettled(late)) as PromiseRejectedResult[]) {
    expect(reason).toBeInstanceOf(StorageUnavailable);
  }
  expect(rowsOf(path, "SELECT * FROM pets WHERE name = 'late'")).toEqual([]);
});

test('a service whose data file is upgraded by another process returns 503, reports the upgrade once in the log and in /readyz, and stops gracefully', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
  const client = clientOf(service.url, service.firstKey ?? '');
  expect((await client.add('Ozzy')).status).toBe(201);
  {
    // Simulates a version that does not check whether the store is in use.
    using other = new Database(dataFileIn(folder.path));
    other.run(
      `BEGIN IMMEDIATE; ALTER TABLE pets RENAME TO animals; PRAGMA user_version = ${newestFormat + 1}; COMMIT`,
    );
  }
  for (let round = 0; round < 3; round++) {
    for (const target of ['/pets', '/pets/1', '/pets?status=sold', '/nowhere']) {
      expect((await client.get(target)).status).toBe(503);
    }
    expect((await client.add('Ozzy')).status).toBe(503);
  }
  const ready = await fetch(`${service.url}/readyz`);
  expect(ready.status).toBe(503);
  const { status, trouble } = (await ready.json()) as { status: string; trouble: string[] };
  expect([status, trouble.length]).toEqual(['unavailable', 1]);
  expect(trouble[0]).toContain(
    `another process changed the format of ${dataFileIn(folder.path)} from ${newestFormat} to ${newestFormat + 1}`,
  );
  expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  const lines = service.stderr().split('\n');
  expect(lines.filter((line) => line.includes('changed the format'))).toEqual([expect.any(String)]);
  expect(service.stderr()).not.toContain('internal_error');
});
