import { expect, test } from 'bun:test';
import { CircuitBreaker } from '../../src/outages/circuit-breaker.ts';
import { until } from '../support/wait.ts';

test.each([
  [false, ['degraded: queries unavailable: refused', 'queries available again']],
  [true, []],
])(
  'a refused statement begins an outage although the server works, unless outages are confirmed (%p)',
  async (confirms, expected) => {
    const notices: string[] = [];
    let probes = 0;
    const probe = async () => void probes++;
    const notice = (text: string) => void notices.push(text);
    using breaker = new CircuitBreaker({ name: 'queries', probe, probeEveryMs: 1, notice, confirms });
    breaker.trip(new Error('refused'));
    await until(() => probes === 1);
    expect([breaker.trouble, notices]).toEqual([undefined, expected]);
  },
);

test('a confirmed outage lasts until a probe succeeds', async () => {
  const notices: string[] = [];
  let isFull = true;
  const probe = async () => {
    if (isFull) throw new Error('the disk is full');
  };
  const notice = (text: string) => void notices.push(text);
  using breaker = new CircuitBreaker({ name: 'queries', probe, probeEveryMs: 1, notice, confirms: true });
  breaker.trip(new Error('refused'));
  await until(() => breaker.trouble !== undefined);
  isFull = false;
  await until(() => breaker.trouble === undefined);
  expect(notices).toEqual(['degraded: queries unavailable: the disk is full', 'queries available again']);
});
