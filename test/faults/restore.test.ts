import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { verifyFile } from '../../src/backup/verify.ts';
import { backUp, contentsOf, makeSampleStore, strict } from '../support/backup.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, operatorOf, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { killAtEachCall } from './each-call.ts';
import { tracing } from './strace.ts';

const testTraced = testWith(...tracing);

/** Creates a store with an older backup, and with later changes in the WAL, as after `kill -9`. */
async function makePlace(folder: string): Promise<void> {
  const { key } = await makeSampleStore(folder, ['first']);
  backUp(folder, join(folder, 'made.backup'));
  await using service = await startService(folder, strict);
  await clientOf(service.url, key).add('second');
  await using operator = await operatorOf(folder);
  await operator.storage.limits.lift(3);
}

testTraced(
  'kill -9 at any system call of a restore leaves either the old or the restored store, and each keeps its own bans',
  async () => {
    await using folder = await temporaryFolder();
    await makePlace(folder.path);
    const old = { animals: ['first', 'second'], bans: [] };
    const restored = { animals: ['first'], bans: [3] };
    const found = new Set<string>();
    await killAtEachCall({
      folder: folder.path,
      words: ['restore', 'made.backup', '--replace'],
      files: ['', '-wal', '-shm', '-journal', '.restoring']
        .map((suffix) => `store.db${suffix}`)
        .concat('store.limits', 'store.limits.new'),
      check: async (place, killedAt) => {
        const contents = await contentsOf(place);
        expect([killedAt, contents]).toEqual([killedAt, contents.animals.length === 1 ? restored : old]);
        found.add(contents.animals.length === 1 ? 'restored' : 'old');
        using database = new Database(dataFileIn(place));
        expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      },
    });
    expect(found).toEqual(new Set(['old', 'restored']));
  },
);

testTraced(
  'kill -9 at any system call of a backup, or of the process that writes it, leaves either no file or a complete backup',
  async () => {
    await using folder = await temporaryFolder();
    await makePlace(folder.path);
    const found = new Set<string>();
    await killAtEachCall({
      folder: folder.path,
      words: ['backup', 'next.backup'],
      files: ['next.backup'],
      check: async (place, killedAt) => {
        const path = join(place, 'next.backup');
        found.add(existsSync(path) ? 'whole' : 'none');
        if (existsSync(path))
          expect([killedAt, verifyFile(path)]).toEqual([
            killedAt,
            expect.objectContaining({ kind: 'backup' }),
          ]);
      },
    });
    expect(found).toEqual(new Set(['none', 'whole']));
  },
);
