/** How the dispatcher divides the store's time between its rounds and other writes. */
import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import { until } from '../support/wait.ts';

/** Timers are rounded to whole milliseconds. */
const roundingMs = 2;

test('after a round that only examined events, other writes have as much time as it took', async () => {
  const rounds: { readonly from: number; readonly to: number }[] = [];
  const dispatcher = new Dispatcher({
    store: {
      hasWebhooks: () => true,
      prepare: async () => undefined,
      dispatch: async () => {
        const from = performance.now();
        // Occupies the store, as a write to SQLite does.
        while (performance.now() < from + 10);
        await setImmediate();
        rounds.push({ from, to: performance.now() });
        return { deliveries: [], after: 1n, isMore: true, expired: 0, isPaced: false, standing: {} };
      },
      bodies: () => new Map(),
      disable: async () => undefined,
    },
    send: async () => ({ error: 'expired', message: '', milliseconds: 0 }),
    clock: { now: () => 0, steady: () => 0, aheadSeconds: 0 },
    perSecond: 50,
    random: () => 0,
    follow: () => undefined,
    count: () => undefined,
    notice: () => undefined,
  });
  await until(() => rounds.length > 5);
  await dispatcher.stop();
  for (const [at, { from, to }] of rounds.entries())
    expect((rounds[at + 1]?.from ?? Number.POSITIVE_INFINITY) - to).toBeGreaterThan(to - from - roundingMs);
});
