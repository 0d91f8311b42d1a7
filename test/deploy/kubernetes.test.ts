import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settings } from '../../src/config/settings.ts';
import { root } from '../support/process.ts';
import { Manifest } from './kubernetes.ts';
import { longestStopSeconds } from './stopping.ts';

const manifest = Manifest.parse(Bun.YAML.parse(readFileSync(join(root, 'deploy/kubernetes.yaml'), 'utf8')));
const [deployment, service, budget] = manifest;
const { spec: pod, metadata } = deployment.spec.template;
const [container] = pod.containers;

test("the service, the disruption budget and the topology spread constraint select the deployment's pods", () => {
  for (const labels of [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
    ...pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
  ]) {
    expect(metadata.labels).toEqual(labels);
  }
});

test('the manifest exposes the client API port, but not the admin port', () => {
  const port = container.env.find(({ name }) => name === 'PORT')?.value;
  expect(container.ports).toEqual([{ name: 'http', containerPort: Number(port) }]);
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.port);
  expect(new Set([...asked, ...service.spec.ports.map(({ targetPort }) => targetPort)])).toEqual(
    new Set(['http']),
  );
});

test('the termination grace period exceeds preStop plus the longest shutdown', () => {
  const needed = container.lifecycle.preStop.sleep.seconds + longestStopSeconds;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(needed);
});

test('an instance is restarted if its liveness probe fails, but not if its readiness probe fails', () => {
  expect(container.readinessProbe.httpGet.path).toBe('/readyz');
  expect(container.livenessProbe.httpGet.path).toBe('/livez');
});

test("the container's environment variables are settings, and none of them contains a secret", () => {
  const names = container.env.map(({ name }) => name);
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(names));
  for (const secret of ['DATABASE_URL', 'REDIS_URL']) expect(names).not.toContain(secret);
});

test('/tmp is a volume, because the root file system is read-only', () => {
  const [volume] = pod.volumes;
  expect(container.volumeMounts).toEqual([{ name: volume?.name ?? '', mountPath: '/tmp' }]);
});

test('an unknown field in the manifest is detected', () => {
  const misspelt = { ...deployment, spec: { ...deployment.spec, replica: 2 } };
  expect(Manifest.safeParse([misspelt, service, budget]).success).toBe(false);
});
