/** The upgrade of a store of version 1.0.0, killed at every point at which it changes a file. */
import { expect, test } from 'bun:test';
import { killAtEachCall } from '../faults/each-call.ts';
import { tracing } from '../faults/strace.ts';
import { checkFile, upgradeStore } from '../stress/upgrade.ts';
import { isUpgraded, writeStore } from '../stress/upgrade-store.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

/** More than one page of each index. */
const animals = 500;

test('the upgrade of a store of version 1.0.0 changes nothing for its clients', async () => {
  await using folder = await temporaryFolder();
  await upgradeStore(folder.path, await writeStore(folder.path, animals));
});

testWith(...tracing)(
  'kill -9 at any call of the upgrade leaves the store unchanged or upgraded, and the next start completes it',
  async () => {
    await using folder = await temporaryFolder();
    const store = await writeStore(folder.path, animals);
    const states = new Set<string>();
    await killAtEachCall({
      folder: folder.path,
      // Any command that opens the store upgrades it.
      words: ['accounts', 'list'],
      files: ['store.db', 'store.db-wal', 'store.limits'],
      check: async (place) => {
        states.add(isUpgraded(dataFileIn(place)) ? 'upgraded' : 'unchanged');
        checkFile(place, store);
        await upgradeStore(place, store);
      },
    });
    // The complete run, and the kill before the first change.
    expect([...states].sort()).toEqual(['unchanged', 'upgraded']);
  },
);
