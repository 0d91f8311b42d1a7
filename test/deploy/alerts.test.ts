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

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface RuleTests {
  readonly tests: readonly { readonly alert_rule_test: readonly Expectation[] }[];
}

interface Expectation {
  readonly alertname: string;
  readonly exp_alerts?: readonly {
    readonly exp_labels: Readonly<Record<string, string>>;
    readonly exp_annotations: Readonly<Record<string, string>>;
  }[];
}

// Checked without promtool as well, because these texts are edited more often than the rules.
test('the annotations expected in alerts.test.yml match those in alerts.yml', async () => {
  const parsed = async <T>(name: string) => Bun.YAML.parse(await Bun.file(join(folder, name)).text()) as T;
  const rules = (await parsed<Rules>('alerts.yml')).groups.flatMap((group) => group.rules);
  const { tests } = await parsed<RuleTests>('alerts.test.yml');
  for (const { alertname, exp_alerts = [] } of tests.flatMap((one) => one.alert_rule_test)) {
    const { annotations = {} } = rules.find((rule) => rule.alert === alertname) ?? {};
    for (const { exp_labels: labels, exp_annotations: expected } of exp_alerts) {
      const shown = Object.entries(annotations).map(([name, text]) => [
        name,
        text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? ''),
      ]);
      expect([alertname, expected]).toEqual([alertname, Object.fromEntries(shown)]);
    }
  }
});
