/** Scheduled backups, with a real store and a clock controlled by the test. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdminServices } from '../../src/app/app.ts';
import { createBackupMaker } from '../../src/app/backups.ts';
import { BackupFolder } from '../../src/backup/folder.ts';
import type { ApiError } from '../../src/contract/api-error.ts';
import { BackupOperations, type BackupSettings, backupHandlers } from '../../src/operations/admin/backups.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { FakeClock } from '../support/clock.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { dataFileIn, makeStore, operatorOf } from '../support/process.ts';
import { rejectionOf } from '../support/rejection.ts';

const hour = 3_600;
let folder: TemporaryFolder;
let admin: AdminServices;
let clock: FakeClock;
let backups: string;
let number = 0;
beforeAll(async () => {
  folder = await temporaryFolder();
  await makeStore(folder.path);
  admin = await operatorOf(folder.path);
});
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
beforeEach(() => {
  clock = new FakeClock();
  backups = join(folder.path, `backups ${++number}`);
});

const daily: BackupSettings = { everyMs: 24 * hour * 1_000, keep: 3 };

/** The operations of a service that has just started. */
function started(settings: BackupSettings = daily): BackupOperations {
  const data = dataFileIn(folder.path);
  const backend = { maker: createBackupMaker(data), folder: new BackupFolder(backups, data) };
  return new BackupOperations({ store: admin.storage, clock, backend, ...settings });
}

const actor = { kind: 'operator', name: 'anna' } as const;

describe('backups', () => {
  test('are due when no backup exists or the interval since the latest one has passed, even after a restart', async () => {
    const first = started();
    expect(await first.createDue()).toMatchObject({ kind: 'made', removed: [] });
    clock.advance(24 * hour - 1);
    expect(await first.createDue()).toBeUndefined();
    expect(await started().createDue()).toBeUndefined();
    clock.advance(1);
    expect(await started().createDue()).toMatchObject({
      kind: 'made',
      backup: { name: 'store-2027-01-16T100000Z.backup', createdAt: '2027-01-16T10:00:00.000Z' },
    });
  });

  test('that were created manually are never deleted and do not count toward the limit', async () => {
    const operations = started({ ...daily, keep: 1 });
    const byHand = await operations.create(actor, 'before-upgrade');
    expect(byHand).toMatchObject({
      name: 'store-2027-01-15T100000Z-before-upgrade.backup',
      label: 'before-upgrade',
    });
    for (let day = 0; day < 3; day++) {
      clock.advance(24 * hour);
      await operations.createDue();
    }
    const { backups: kept } = await operations.state();
    expect(kept.map(({ name, label }) => [name, label])).toEqual([
      ['store-2027-01-18T100000Z.backup', null],
      [byHand.name, 'before-upgrade'],
    ]);
  });

  test('keep the result of their last verification until they are deleted, even after a restart', async () => {
    const { name } = await started().create(actor, 'manual');
    clock.advance(hour);
    const { counts } = await started().verify(actor, name);
    const verified = async () => (await started().state()).backups[0]?.lastVerification;
    const sound = { at: '2027-01-15T11:00:00.000Z', isSound: true, message: null, counts };
    expect(await verified()).toEqual(sound);
    writeFileSync(join(backups, name), 'x', { flag: 'a' });
    const { message } = (await rejectionOf(started().verify(actor, name))) as ApiError;
    expect(await verified()).toMatchObject({ isSound: false, message });

    const operations = started({ ...daily, keep: 1 });
    clock.advance(24 * hour);
    await operations.createDue();
    await operations.verify(actor, (await operations.state()).backups[0]?.name ?? '');
    clock.advance(24 * hour);
    await operations.createDue();
    expect(readdirSync(backups).filter((file) => file.endsWith('.verified'))).toEqual([`${name}.verified`]);
  });

  test('are created and kept even if other backups have timestamps in the future', async () => {
    const operations = started({ ...daily, keep: 1 });
    await operations.createDue();
    const name = 'store-2027-01-15T100000Z.backup';
    const future = 'store-2099-01-01T000000Z.backup';
    copyFileSync(join(backups, name), join(backups, future));
    clock.advance(24 * hour);
    expect(await started({ ...daily, keep: 1 }).createDue()).toMatchObject({
      kind: 'made',
      removed: [future, name],
    });
    expect((await operations.state()).backups).toHaveLength(1);
  });

  test('are retried five minutes after a failure, even if the clock was set back, and its reason is reported until a backup succeeds', async () => {
    writeFileSync(backups, 'in the way');
    const operations = started();
    expect(await operations.createDue()).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining(backups),
    });
    expect(await operations.state()).toMatchObject({
      lastError: expect.stringContaining(backups),
      backups: [],
    });
    expect(operations.concern?.what).toContain(backups);
    expect(operations.concern?.remedy).toContain('retried');
    clock.step(-25 * hour);
    clock.advance(299);
    expect(await operations.createDue()).toBeUndefined();
    await Bun.file(backups).delete();
    clock.advance(1);
    expect(await operations.createDue()).toMatchObject({ kind: 'made' });
    expect(operations.concern).toBeUndefined();
    expect((await operations.state()).lastError).toBeNull();
  });

  test('are counted by outcome, and the metrics describe the latest backup even after a restart', async () => {
    const first = started();
    expect(await first.metrics()).toMatchObject({ everyMs: daily.everyMs, made: 0, failed: 0 });
    expect((await first.metrics())?.latest).toBeUndefined();
    writeFileSync(backups, 'in the way');
    await first.createDue();
    await Bun.file(backups).delete();
    clock.advance(300);
    await first.createDue();
    const [{ bytes = 0, createdAt = '' } = {}] = (await first.state()).backups;
    const latest = { bytes, createdAt: Date.parse(createdAt) };
    expect(await first.metrics()).toMatchObject({ latest, seconds: 0, made: 1, failed: 1 });
    expect(await started().metrics()).toMatchObject({ latest, seconds: undefined, made: 0, failed: 0 });
  });

  test('that a killed service left unfinished are deleted when the next backup is created', async () => {
    mkdirSync(backups);
    const stranger = 'store-2027-01-01.4194999.partial';
    // No process has this id.
    for (const name of ['.4194999.partial', '.4194999.partial.limits']) {
      writeFileSync(join(backups, `store-2027-01-01T000000Z.backup${name}`), 'half');
    }
    writeFileSync(join(backups, stranger), 'of another program');
    const { name } = await started().create(actor, 'manual');
    expect(readdirSync(backups).sort()).toEqual([stranger, name].sort());
  });

  test('are created only manually if no interval is set', async () => {
    const operations = started({ everyMs: undefined, keep: 3 });
    expect(await operations.createDue()).toBeUndefined();
    expect(await operations.state()).toMatchObject({ folder: backups, everySeconds: null, backups: [] });
  });
});

describe('createBackup', () => {
  test('fails with an error that names the backup if it was created but could not be recorded', async () => {
    const data = dataFileIn(folder.path);
    const backend = { maker: createBackupMaker(data), folder: new BackupFolder(backups, data) };
    const store = { write: () => Promise.reject(new StorageUnavailable('the disk is full')) };
    const operations = new BackupOperations({ store, clock, backend, ...daily });
    const { code, message } = (await rejectionOf(operations.create(actor, 'manual'))) as ApiError;
    const [made] = (await operations.state()).backups;
    expect([code, message]).toEqual([
      'backup_failed',
      expect.stringContaining(`${made?.name} was created, but`),
    ]);
  });

  test('is rejected while another backup is in progress, and without a backup folder', async () => {
    const operations = started();
    const first = operations.create(actor, 'manual');
    expect(await rejectionOf(operations.create(actor, 'manual'))).toMatchObject({
      code: 'backup_in_progress',
    });
    await first;
    // A backup in the same second would have the same name.
    expect(await rejectionOf(operations.create(actor, 'manual'))).toMatchObject({
      code: 'backup_in_progress',
    });
    const none = new BackupOperations({ store: admin.storage, clock, backend: undefined, ...daily });
    expect(await rejectionOf(none.create(actor, 'manual'))).toMatchObject({ code: 'backup_not_possible' });
    expect(await none.state()).toMatchObject({ folder: null, backups: [], running: null });
  });
});

describe('verifyBackup', () => {
  test("verifies one backup at a time, with operators taking turns, and an operator's requests for the same backup share the result", async () => {
    const operations = started();
    const { name: first } = await operations.create(actor, 'one');
    clock.advance(1_000);
    const { name: second } = await operations.create(actor, 'two');
    const ended: string[] = [];
    const verifying = [first, second, first].map(async (name) => {
      const verified = await verify(operations, name);
      ended.push(name);
      return verified;
    });
    const [one, two, again] = await Promise.all(verifying);
    expect([again, two?.name, ended]).toEqual([one, second, [first, first, second]]);
  });

  test('does not make an operator wait for the earlier requests of another operator who verifies the same backup', async () => {
    const operations = started();
    const names: string[] = [];
    for (const label of ['one', 'two', 'three']) {
      clock.advance(1_000);
      names.push((await operations.create(actor, label)).name);
    }
    const ended: string[] = [];
    const wanted = [...names.map((name) => ['till', name]), ['other', names[2]]] as [string, string][];
    await Promise.all(
      wanted.map(async ([by, name]) => {
        await operations.verify({ ...actor, name: by }, name);
        ended.push(`${by} ${names.indexOf(name)}`);
      }),
    );
    expect(ended).toEqual(['till 0', 'till 1', 'other 2', 'till 2']);
  });

  const verify = (operations: BackupOperations, name: string) =>
    backupHandlers.verifyBackup({ backups: operations }, { body: { name } } as never, { actor } as never);

  test("accepts only the names of this store's backups in the folder", async () => {
    const operations = started();
    const { name } = await operations.create(actor, 'manual');
    mkdirSync(join(backups, 'store-'));
    copyFileSync(join(backups, name), join(folder.path, name));
    copyFileSync(join(backups, name), join(backups, 'another.backup'));
    expect(existsSync(join(backups, 'store-', '..', '..', name))).toBe(true);
    for (const wrong of [
      ...[`../${name}`, `store-/../../${name}`, join(folder.path, name), `./${name}`, 'another.backup'],
      ...[`${name}\0`, 'store-2027-01-15T100001Z.backup', 'store-2027-99-99T999999Z.backup', ''],
    ]) {
      expect([wrong, await rejectionOf(verify(operations, wrong))]).toEqual([
        wrong,
        expect.objectContaining({ code: 'backup_not_found' }),
      ]);
    }
  });
});
