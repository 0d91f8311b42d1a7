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

test('during the pause after a successful probe, only an urgent failure is probed at once', async () => {
  let probes = 0;
  using breaker = new CircuitBreaker({
    name: 'queries',
    probe: async () => void probes++,
    probeEveryMs: 1,
    quietMs: 600_000,
    notice: () => undefined,
  });
  breaker.trip(new Error('refused'));
  await until(() => probes === 1);
  breaker.trip(new Error('refused'));
  breaker.trip(new Error('read-only'), true);
  await until(() => probes === 2);
  breaker.trip(new Error('refused'));
  breaker.trip(new Error('read-only'), true);
  await until(() => probes === 3);
  expect(breaker.trouble).toBeDefined();
});
