import { expect, test } from 'bun:test';
import { createLimitFile } from '../../src/limits/file/create-limit-file.ts';
import { LimitSync } from '../../src/limits/file/sync.ts';
import { temporaryFolder } from '../support/folder.ts';
import { limitFileIn } from '../support/process.ts';

test('a limit file that cannot grow during a sync is reported as a problem until growing it succeeds', async () => {
  await using folder = await temporaryFolder();
  const path = limitFileIn(folder.path);
  const settings = { strikes: 100, strictSince: 0 };
  using file = createLimitFile({ limits: path, data: path }, settings, () => undefined);
  const sync = new LimitSync(file, () => undefined, true);
  let isFull = true;
  file.changed();
  const syncing = sync.run();
  sync.failed('no space', () => {
    if (isFull) throw new Error('no space');
  });
  await syncing;
  expect(sync.trouble).toContain('no space');
  isFull = false;
  await sync.run();
  expect(sync.trouble).toBeUndefined();
  await sync.close();
});
