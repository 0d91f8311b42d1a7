import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root, start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { longestStopSeconds } from './stopping.ts';

const testUnit = testWith({ name: 'systemd-analyze', package: 'systemd' }, ['systemd-analyze', '--version']);

const unit = readFileSync(join(root, 'deploy/animal-store.service'), 'utf8');

/**
 * Maximum exposure level that systemd-analyze may report, out of 100. The unit needs access only to clients and
 * databases.
 */
const exposure = 15;

/** Analyzes the unit, with `true` in place of the service's executable, which may not be installed. */
async function analyze(...words: readonly string[]): Promise<{ exitCode: number; output: string }> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'animal-store.service');
  await Bun.write(file, unit.replace('/usr/local/bin/animal-store serve', Bun.which('true') ?? ''));
  await using analyzing = start(['systemd-analyze', '--no-pager', ...words, file]);
  const exitCode = await analyzing.exited;
  return { exitCode, output: analyzing.stdout() + analyzing.stderr() };
}

testUnit('the unit passes systemd-analyze verify', async () => {
  expect(await analyze('verify')).toEqual({ exitCode: 0, output: '' });
});

testUnit("the unit restricts the service's access to the machine", async () => {
  const { exitCode, output } = await analyze('security', '--offline=true', `--threshold=${exposure}`);
  expect([exitCode, output]).toEqual([0, expect.stringContaining('Overall exposure level')]);
});

testUnit("systemd's stop timeout is longer than the longest shutdown", () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  expect(seconds).toBeGreaterThan(longestStopSeconds);
});
