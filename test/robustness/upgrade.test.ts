/** Upgrades a store of version 1.0.0, and kills the upgrade before every system call that changes a file. */
import { expect, test } from 'bun:test';
import { killAtEachCall } from '../faults/each-call.ts';
import { tracing } from '../faults/strace.ts';
import { checkFile, upgradeStore } from '../stress/upgrade.ts';
import { isUpgraded, writeStore } from '../stress/upgrade-store.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

/** Number of animals. Enough for more than one page of each index. */
const animals = 500;

test('upgrading a store of version 1.0.0 changes nothing for clients', async () => {
  await using folder = await temporaryFolder();
  await upgradeStore(folder.path, await writeStore(folder.path, animals));
});

testWith(...tracing)(
  'kill -9 at any system call of an upgrade leaves the store either unchanged or upgraded, and the next process that opens the store completes the upgrade',
  async () => {
    await using folder = await temporaryFolder();
    const store = await writeStore(folder.path, animals);
    const states = new Set<string>();
    await killAtEachCall({
      folder: folder.path,
      words: ['migrate'],
      files: ['store.db', 'store.db-wal', 'store.limits'],
      check: async (place) => {
        states.add(isUpgraded(dataFileIn(place)) ? 'upgraded' : 'unchanged');
        checkFile(place, store);
        await upgradeStore(place, store);
      },
    });
    // A complete run upgrades the store, and a kill before the first change leaves the store unchanged.
    expect([...states].sort()).toEqual(['unchanged', 'upgraded']);
  },
);
