import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { settings } from '../../src/config/settings.ts';
import { root } from '../support/process.ts';
import { Manifest } from './kubernetes.ts';
import { longestStopSeconds } from './stopping.ts';

const manifest = Manifest.parse(Bun.YAML.parse(readFileSync(join(root, 'deploy/kubernetes.yaml'), 'utf8')));
const [deployment, service, budget] = manifest;
const { spec: pod, metadata } = deployment.spec.template;
const [container] = pod.containers;

test('the service, the budget and the topology spread select the pods of the deployment', () => {
  for (const labels of [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
    ...pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
  ]) {
    expect(metadata.labels).toEqual(labels);
  }
});

test('every port belongs to the service, and none to the admin listener', () => {
  const port = container.env.find(({ name }) => name === 'PORT')?.value;
  expect(container.ports).toEqual([{ name: 'http', containerPort: Number(port) }]);
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.port);
  expect(new Set([...asked, ...service.spec.ports.map(({ targetPort }) => targetPort)])).toEqual(
    new Set(['http']),
  );
});

test('the grace period covers preStop and a stop', () => {
  const needed = container.lifecycle.preStop.sleep.seconds + longestStopSeconds;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(needed);
});

test('an instance is restarted when it is not alive, but not when it is not ready', () => {
  expect(container.readinessProbe.httpGet.path).toBe('/readyz');
  expect(container.livenessProbe.httpGet.path).toBe('/livez');
});

test('its variables are settings, and none contains a secret', () => {
  const names = container.env.map(({ name }) => name);
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(names));
  for (const secret of ['DATABASE_URL', 'REDIS_URL']) expect(names).not.toContain(secret);
});

test('the temporary folder is a volume, because the root file system is read-only', () => {
  const [volume] = pod.volumes;
  expect(container.volumeMounts).toEqual([{ name: volume?.name ?? '', mountPath: '/tmp' }]);
});

test('an unknown field is detected', () => {
  const misspelt = { ...deployment, spec: { ...deployment.spec, replica: 2 } };
  expect(Manifest.safeParse([misspelt, service, budget]).success).toBe(false);
});

test('the image has the current version', () => {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const next = /^## Unreleased \((\S+)\)$/m.exec(changelog)?.[1] ?? packageJson.version;
  expect(container.image).toEndWith(`:${next}`);
});
