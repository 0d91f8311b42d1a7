/** How the dispatcher divides the store's time between its rounds and other writes. */
import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import type {
  LeasedDelivery,
  LeaseRequest,
  LeaseResult,
  SettledDelivery,
} from '../../src/domain/delivery.ts';
import { type BeginRun, unobserved } from '../../src/domain/task-run.ts';
import type { Send } from '../../src/webhooks/attempt.ts';
import { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import { until } from '../support/wait.ts';

/** Timers are rounded to whole milliseconds. */
const roundingMs = 2;

function deliveryTo(webhookId: number): LeasedDelivery {
  return {
    ...{
      id: BigInt(webhookId),
      webhookId: BigInt(webhookId),
      accountId: 1,
      eventId: 1n,
      type: 'pet.created',
    },
    ...{ attempts: '[]', createdAt: 0, leasedUntil: 60_000 },
    ...{ url: '', isSelected: true, secret: '', formerSecret: null, formerSecretUntil: null },
  };
}

interface Rounds {
  readonly take: (
    request: LeaseRequest,
  ) => Pick<LeaseResult, 'deliveries' | 'isBehind'> & Partial<Pick<LeaseResult, 'full'>>;
  /** Returns the ids of locked deliveries. */
  readonly settle?: (settled: readonly SettledDelivery[]) => bigint[];
  readonly send: Send;
  readonly checked?: () => void;
  /** Unix ms. */
  readonly now?: () => number;
  /** Monotonic time in ms. */
  readonly steady?: () => number;
  readonly begin?: BeginRun;
  /** Interval between checks. Defaults to a short one, because tests wait for checks. */
  readonly pollEveryMs?: number;
}

const succeed: Send = async () => ({ status: 200, milliseconds: 1, body: '', retryAfter: undefined });

/** Leases deliveries to these webhooks in the first round, and none in later rounds. */
function leaseOnce(...webhookIds: number[]): Rounds['take'] {
  return () => ({ deliveries: webhookIds.splice(0).map(deliveryTo), isBehind: false });
}

/** A dispatcher whose store always has more deliveries. */
function dispatcherOf({
  take,
  settle = () => [],
  send,
  checked = () => undefined,
  now = () => 0,
  steady = () => 0,
  begin = unobserved,
  pollEveryMs = 50,
}: Rounds): Dispatcher {
  const more = { after: 1n, isMore: true, full: [], expired: 0, isPaced: false };
  return new Dispatcher({
    store: {
      hasWebhooks: () => {
        checked();
        return true;
      },
      prepare: async () => undefined,
      dispatch: async (settled, request) => {
        const [locked, taken] = [settle(settled), take(request)];
        await setImmediate();
        return { ...more, ...taken, locked };
      },
      bodies: () => new Map([[1n, '{}']]),
      disable: async () => 'disabled',
    },
    send,
    clock: { now, steady, storeTime: () => 0, aheadSeconds: 0 },
    places: 100,
    perSecond: 50,
    random: () => 0,
    follow: () => undefined,
    count: () => undefined,
    notice: () => undefined,
    begin,
    pollEveryMs,
  });
}

/** Receivers that do not respond to any request until the service stops. */
function hungReceivers() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const send: Send = () => promise.then(() => ({ error: 'aborted', message: '', milliseconds: 0 }));
  const stop = (dispatcher: Dispatcher) => {
    const stopped = dispatcher.stop();
    resolve();
    return stopped;
  };
  return { send, stop };
}

test.each([
  ['that only examined events', 0],
  ['that examined events and leased a delivery', 1],
])(
  'after a round %s, the dispatcher pauses at least as long as the round took, so that other writes can proceed',
  async (_, leased) => {
    const { send, stop } = hungReceivers();
    const rounds: { readonly from: number; readonly to: number }[] = [];
    const dispatcher = dispatcherOf({
      take: ({ room }) => {
        const from = performance.now();
        // Occupies the store, as a write to SQLite does.
        while (performance.now() < from + 10);
        rounds.push({ from, to: performance.now() });
        const deliveries = Array.from({ length: Math.min(leased, room) }, () => deliveryTo(rounds.length));
        return { deliveries, isBehind: true };
      },
      send,
    });
    await until(() => rounds.length > 5);
    await stop(dispatcher);
    for (const [at, { from, to }] of rounds.slice(0, 6).entries())
      expect((rounds[at + 1]?.from ?? Number.POSITIVE_INFINITY) - to).toBeGreaterThan(to - from - roundingMs);
  },
);

test('a dispatcher without room for deliveries makes one round per check', async () => {
  const { send, stop } = hungReceivers();
  let [checks, rounds] = [0, 0];
  const dispatcher = dispatcherOf({
    take: ({ room }) => {
      if (room === 0) rounds++;
      const deliveries = Array.from({ length: room }, (_, at) => deliveryTo(at + 1));
      return { deliveries, isBehind: room === 0 };
    },
    send,
    checked: () => checks++,
  });
  await until(() => checks > 3);
  expect(rounds).toBeWithin(1, checks + 1);
  await stop(dispatcher);
});

test('if a round fails, the leases that it may have obtained are ended in later rounds until they expire', async () => {
  const { send, stop } = hungReceivers();
  const lost: (readonly number[])[] = [];
  let now = 1;
  const dispatcher = dispatcherOf({
    take: (request) => {
      lost.push(request.lost);
      if (lost.length === 1) throw new Error('The reply was lost.');
      return { deliveries: [], isBehind: false };
    },
    send,
    now: () => now,
  });
  await until(() => lost.length > 2);
  now = 60_001;
  const rounds = lost.length;
  await until(() => lost.length > rounds + 1);
  await stop(dispatcher);
  expect([lost[0], lost[1], lost[rounds - 1], lost.at(-1)]).toEqual([[], [60_001], [60_001], []]);
});

test('rounds that fail are 100 ms apart, then 200, 400 and so on, even if attempts end in the meantime', async () => {
  const failedAt: number[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let rounds = 0;
  const dispatcher = dispatcherOf({
    take: ({ room }) => {
      if (++rounds > 1) {
        failedAt.push(performance.now());
        end();
        throw new Error('The store is unavailable.');
      }
      return { deliveries: Array.from({ length: room }, (_, at) => deliveryTo(at + 1)), isBehind: false };
    },
    // Ends one after the other.
    send: async ({ webhookId }) => {
      await ended;
      for (let turn = 0n; turn < webhookId; turn++) await setImmediate();
      return { status: 200, milliseconds: 1, body: '', retryAfter: undefined };
    },
    pollEveryMs: 1_000,
  });
  await until(() => failedAt.length > 3);
  await dispatcher.stop();
  for (const [index, pauseMs] of [100, 200, 400].entries()) {
    const [from = 0, to = 0] = failedAt.slice(index);
    expect(to - from).toBeGreaterThanOrEqual(pauseMs - roundingMs);
  }
});

test('if the dispatcher stops after a failed round, it stores the outcomes', async () => {
  const stored: bigint[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let hasFailed = false;
  const dispatcher = dispatcherOf({
    take: leaseOnce(1, 2),
    settle: (settled) => {
      if (settled.length > 0 && !hasFailed) {
        hasFailed = true;
        throw new Error('The store is unavailable.');
      }
      stored.push(...settled.map(({ webhookId }) => webhookId));
      return [];
    },
    send: async ({ webhookId }) => {
      if (webhookId === 2n) await ended;
      return { status: 200, milliseconds: 1, body: '', retryAfter: undefined };
    },
  });
  await until(() => hasFailed);
  end();
  await setImmediate();
  await dispatcher.stop();
  expect(stored).toEqual([1n, 2n]);
});

test('if a round fails while the dispatcher stops, its outcomes are stored in another round', async () => {
  const stored: bigint[] = [];
  let stopped: Promise<void> | undefined;
  const dispatcher = dispatcherOf({
    take: leaseOnce(1),
    settle: (settled) => {
      if (settled.length > 0 && stopped === undefined) {
        stopped = dispatcher.stop();
        throw new Error('The store is unavailable.');
      }
      stored.push(...settled.map(({ id }) => id));
      return [];
    },
    send: succeed,
  });
  await until(() => stopped !== undefined);
  await stopped;
  expect(stored).toEqual([1n]);
});

test('if the dispatcher stops after a round without a reply, it ends the leases that the round may have obtained', async () => {
  const requests: LeaseRequest[] = [];
  const dispatcher = dispatcherOf({
    take: (request) => {
      requests.push(request);
      if (requests.length === 1) throw new Error('The reply was lost.');
      return { deliveries: [], isBehind: false };
    },
    send: succeed,
  });
  await until(() => requests.length > 0);
  await setImmediate();
  await dispatcher.stop();
  expect(requests.at(-1)).toMatchObject({ lost: [60_000], room: 0 });
});

test('if the dispatcher stops while the outcome of a delivery waits for a lock, it stores the outcome', async () => {
  const stored: bigint[] = [];
  let [isLocked, wasLocked] = [true, false];
  const dispatcher = dispatcherOf({
    take: leaseOnce(1),
    settle: (settled) => {
      const ids = settled.map(({ id }) => id);
      wasLocked ||= ids.length > 0;
      if (isLocked) return ids;
      stored.push(...ids);
      return [];
    },
    send: succeed,
  });
  await until(() => wasLocked);
  await setImmediate();
  isLocked = false;
  await dispatcher.stop();
  expect(stored).toEqual([1n]);
});

test('the outcome of a locked delivery is stored when it is no longer locked, without further attempts', async () => {
  const stored: SettledDelivery[] = [];
  let [locks, attempts, isLeased] = [2, 0, false];
  const dispatcher = dispatcherOf({
    take: () => {
      const deliveries = isLeased ? [] : [deliveryTo(1)];
      isLeased = true;
      return { deliveries, isBehind: false };
    },
    settle: (settled) => {
      if (settled.length > 0 && locks-- > 0) return settled.map(({ id }) => id);
      stored.push(...settled);
      return [];
    },
    send: async () => {
      attempts++;
      return { status: 200, milliseconds: 1, body: '', retryAfter: undefined };
    },
  });
  await until(() => stored.length > 0);
  await dispatcher.stop();
  expect([attempts, stored.map(({ id, status }) => [id, status])]).toEqual([1, [[1n, 'succeeded']]]);
});

test('each round continues where the last one ended', async () => {
  const { send, stop } = hungReceivers();
  const rounds: bigint[] = [];
  const dispatcher = dispatcherOf({
    take: ({ after }) => {
      rounds.push(after);
      return { deliveries: [], isBehind: false };
    },
    send,
  });
  await until(() => rounds.length >= 2);
  await stop(dispatcher);
  expect(rounds.slice(0, 2)).toEqual([0n, 1n]);
});

test('a round that finds nothing to send is no evidence that sending works, unlike one that leases a delivery or stores an outcome', async () => {
  const reported: (boolean | undefined)[] = [];
  let left = 1;
  const dispatcher = dispatcherOf({
    take: () => ({ deliveries: left-- > 0 ? [deliveryTo(1)] : [], isBehind: false }),
    send: async () => ({ status: 200, milliseconds: 1, body: '', retryAfter: undefined }),
    begin: () => ({
      succeeded: (hasWorked) => reported.push(hasWorked),
      notNeeded: () => undefined,
      failed: () => undefined,
    }),
  });
  await until(() => reported.includes(false));
  await dispatcher.stop();
  expect(reported.filter((hasWorked) => hasWorked)).toHaveLength(2);
});

test('a webhook whose queue of deliveries is full is skipped for 30 s, or until one of its deliveries ends', async () => {
  let steady = 0;
  const leftOut: string[] = [];
  const dispatcher = dispatcherOf({
    take: ({ full }) => {
      const isFirst = leftOut.push(String(full)) === 1;
      return { deliveries: isFirst ? [deliveryTo(7)] : [], full: isFirst ? [7n, 8n] : [], isBehind: false };
    },
    send: async () => ({ status: 200, milliseconds: 1, body: '', retryAfter: undefined }),
    steady: () => steady,
  });
  await until(() => leftOut.at(-1) === '8');
  steady = 29_999;
  const rounds = leftOut.length;
  await until(() => leftOut.length > rounds + 1);
  expect(leftOut.at(-1)).toBe('8');
  steady = 30_000;
  await until(() => leftOut.at(-1) === '');
  await dispatcher.stop();
});
