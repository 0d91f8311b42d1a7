import { expect, test } from 'bun:test';
import { CircuitBreaker } from '../../src/outages/circuit-breaker.ts';
import { until } from '../support/wait.ts';

test('an outage lasts as long as requests fail, although probes succeed', async () => {
  const notices: string[] = [];
  let probes = 0;
  using breaker = new CircuitBreaker({
    name: 'queries',
    probe: async () => {
      // Another request fails during each of these probes.
      if (++probes < 3) breaker.trip(new Error('refused'));
    },
    probeEveryMs: 1,
    quietMs: 500,
    notice: (text) => void notices.push(text),
  });
  breaker.trip(new Error('refused'));
  await until(() => breaker.trouble === undefined);
  expect(probes).toBeGreaterThanOrEqual(3);
  expect(notices).toEqual(['degraded: queries unavailable: refused', 'queries available again']);
});

/** A breaker whose probes succeed, and whose outages last for minutes after the last failure. */
function createBreaker() {
  const notices: string[] = [];
  const probes: number[] = [];
  const breaker = new CircuitBreaker({
    name: 'queries',
    probe: async () => void probes.push(performance.now()),
    probeEveryMs: 1,
    quietMs: 600_000,
    notice: (text) => void notices.push(text),
  });
  return { breaker, notices, probes };
}

test('during the pause after a successful probe, only an urgent failure is probed at once', async () => {
  const { breaker: created, probes } = createBreaker();
  using breaker = created;
  breaker.trip(new Error('refused'));
  await until(() => probes.length === 1);
  breaker.trip(new Error('refused'));
  breaker.trip(new Error('read-only'), true);
  await until(() => probes.length === 2);
  breaker.trip(new Error('refused'));
  breaker.trip(new Error('read-only'), true);
  await until(() => probes.length === 3);
  expect(breaker.trouble).toBeDefined();
});

test('while probes succeed, a new reason for failures is reported once it persists', async () => {
  const { breaker: created, notices, probes } = createBreaker();
  using breaker = created;
  breaker.trip(new Error('permission denied for table usage'));
  await until(() => probes.length === 1);
  breaker.trip(new Error('permission denied for table orders'));
  expect(notices).toHaveLength(1);
  for (let failures = 0; failures < 20; failures++)
    breaker.trip(new Error('permission denied for table orders'));
  expect(notices).toEqual([
    'degraded: queries unavailable: permission denied for table usage',
    'degraded: queries unavailable: permission denied for table orders',
  ]);
});

test('an outage ends with the last failure, although it lasts until no request has failed for a while', async () => {
  const probedAt: number[] = [];
  const { promise: endedAt, resolve } = Promise.withResolvers<number | undefined>();
  using breaker = new CircuitBreaker({
    name: 'queries',
    probe: async () => void probedAt.push(performance.now()),
    probeEveryMs: 1,
    quietMs: 20,
    notice: (_text, outage) => {
      if (outage?.works) resolve(outage.endedAt);
    },
  });
  breaker.trip(new Error('refused'));
  expect(await endedAt).toBeGreaterThanOrEqual(probedAt[0] as number);
  expect(await endedAt).toBeLessThan(probedAt[1] as number);
});
