import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, program, settingsIn, start, startService } from '../support/process.ts';
import { Writers } from './kill-load.ts';
import { checkStored, storedAnimals } from './stored.ts';

/** Starts a command on the store in this folder. */
function command(folder: string, ...words: string[]) {
  return start([...program, ...words], { environment: settingsIn(folder), cwd: folder });
}

// restore.test.ts kills the command, and the process that writes the file, at each system call.
test.each([false, true])(
  'a backup under load contains every animal acknowledged before the backup began (service killed: %p)',
  async (isKilled) => {
    await using folder = await temporaryFolder();
    await using elsewhere = await temporaryFolder();
    await using service = await startService(folder.path, { LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' });
    const animals = new Writers();
    const key = await issueKey(folder.path, 'enterprise', ample);
    const load = animals.run(clientOf(service.url, key), 'animal');
    await animals.reached(100);
    const before = [...animals.acknowledged];
    await using backup = command(folder.path, 'backup', 'made.backup');
    if (isKilled) service.signal('SIGKILL');
    expect([await backup.exited, backup.stderr()]).toEqual([0, '']);
    service.signal('SIGKILL');
    await Promise.all([service.exited, load]);

    await using restore = command(elsewhere.path, 'restore', join(folder.path, 'made.backup'));
    expect(await restore.exited).toBe(0);
    const stored = storedAnimals(dataFileIn(elsewhere.path));
    checkStored(stored, before, (name) => animals.wasSent(name));
    await using again = await startService(elsewhere.path);
    const last = before.at(-1);
    expect((await clientOf(again.url, key).get(`/pets/${last?.id}`)).text).toContain(`"${last?.name}"`);
  },
);
