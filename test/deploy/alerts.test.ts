import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

// promtool is part of the Prometheus package, which CI does not install just for this test.
const testRules = testWith({ name: 'promtool', package: 'prometheus', optional: true }, [
  'promtool',
  '--version',
]);

const folder = join(root, 'deploy');

testRules('each alert fires exactly when it should, according to promtool', async () => {
  for (const command of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    await using checking = start(['promtool', ...command], { cwd: folder });
    const exitCode = await checking.exited;
    expect([exitCode, checking.stdout() + checking.stderr()]).toEqual([
      0,
      expect.stringContaining('SUCCESS'),
    ]);
  }
});

test('every alert is tested both while it fires and while it does not', () => {
  const text = (name: string) => readFileSync(join(folder, name), 'utf8');
  const names = [...text('alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  const tried = text('alerts.test.yml');
  for (const name of names) {
    expect(tried).toContain(`alertname: ${name} }`);
    expect(tried).toMatch(new RegExp(`alertname: ${name}\\n +exp_alerts:`));
  }
});
