/** How late events are sent while the receivers of other accounts are slow or hung. */
import { expect, test } from 'bun:test';
import { hungMs, type Receiver, type SimulatedWebhook, simulate } from './simulation.ts';

const takes =
  (milliseconds: number): Receiver =>
  () =>
    milliseconds;
const fast = takes(5);
const hung = takes(hungMs);
/** Responds to all requests at the same times. */
const together =
  (everyMs: number): Receiver =>
  (now) =>
    everyMs - (now % everyMs);
/** Responds to every other request only after up to 14 s. */
const alternating: Receiver = (now, requests) => (requests % 2 === 0 ? 5 : 6_000 + (now % 8_000));
/** Responds at once in the first 400 ms of each period, and otherwise at its end. */
const atFirst: Receiver = (now) => (now % 9_800 < 400 ? 5 : 9_800 - (now % 9_800));

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** Webhooks of accounts that each have these receivers. */
function accounts(count: number, receivers: readonly Receiver[], firstAccount: number): SimulatedWebhook[] {
  return times(count, receivers).flatMap((all, at) =>
    all.map((receiver) => ({ account: firstAccount + at, receiver })),
  );
}

const seconds = 30;

/** The longest delay of the events of each of these accounts' first webhooks, in ms; Infinity if some were not sent. */
function longestDelays(
  others: readonly SimulatedWebhook[],
  own: Readonly<Record<string, readonly Receiver[]>>,
  roundMs = 40,
): Record<string, number> {
  const names = Object.keys(own);
  const mine = Object.values(own).flatMap((receivers, at) => accounts(1, receivers, at + 1));
  const half = Math.floor(others.length / 2);
  const delays = simulate([...others.slice(0, half), ...mine, ...others.slice(half)], seconds, roundMs);
  const firsts = names.map((_, at) => half + mine.findIndex(({ account }) => account === at + 1));
  const sent = firsts.map((at) => delays[at] ?? []);
  const missing = (count: number) => (count < seconds - 1 ? Number.POSITIVE_INFINITY : 0);
  return Object.fromEntries(
    names.map((name, at) => [name, Math.max(missing(sent[at]?.length ?? 0), ...(sent[at] ?? []))]),
  );
}

const own = {
  fast: [fast],
  fastWithHung: [fast, hung],
  slow: [takes(1_500)],
  slowWithHung: [takes(1_500), hung],
  twoSlow: [takes(1_500), takes(1_500)],
  threeSlow: times(3, takes(1_100)),
  slowest: [takes(3_900)],
};

/** The receivers of each of 20 other accounts. */
const attacks: readonly (readonly [string, readonly Receiver[]])[] = [
  ['16 hang', times(16, hung)],
  ['16 take 960 ms', times(16, takes(960))],
  ['16 take 2.9 s', times(16, takes(2_900))],
  ['16 take 9.6 s', times(16, takes(9_600))],
  ['16 in steps of 9.8 s', times(16, together(9_800))],
  ['16 alternate', times(16, alternating)],
  [
    '3 hang, 6 in steps of 9.8 s, 7 take 960 ms',
    [...times(3, hung), ...times(6, together(9_800)), ...times(7, takes(960))],
  ],
  [
    '6 respond only at first, 5 in steps of 9.8 s, 5 hang',
    [...times(6, atFirst), ...times(5, together(9_800)), ...times(5, hung)],
  ],
  ['6 in steps of 2.9 s, 10 hang', [...times(6, together(2_900)), ...times(10, hung)]],
];

const isEachLessThan = (delays: Record<string, number>, most: number) =>
  Object.fromEntries(Object.entries(delays).map(([name, delay]) => [name, delay < most ? true : delay]));
const all = (accounts: object) => Object.fromEntries(Object.keys(accounts).map((name) => [name, true]));

test.each(attacks)('the receivers of 20 accounts do not delay the events of others: %s', (_, receivers) => {
  const delays = longestDelays(accounts(20, receivers, 100), own);
  expect(isEachLessThan(delays, 500)).toEqual(all(own));
});

test('fast receivers get their events in time while the receivers of 60 accounts hang', () => {
  const { fast, fastWithHung, slow } = own;
  const delays = longestDelays(accounts(60, times(16, hung), 100), { fast, fastWithHung, slow });
  expect(isEachLessThan(delays, 500)).toEqual(all(delays));
});

test('with many webhooks and slow rounds, the events of others are late by the time that the rounds take', () => {
  const delays = longestDelays(
    accounts(20, times(16, takes(2_900)), 100),
    { fast: own.fast, slow: own.slow },
    100,
  );
  expect(isEachLessThan(delays, 1_200)).toEqual(all(delays));
});

test.each([
  [10, hung],
  [20, hung],
  [20, together(9_800)],
])(
  'new slow receivers of an account do not delay its fast one, even while those of %d other accounts are slow',
  (count, slow) => {
    const [first, last] = [
      accounts(1, [fast, ...times(15, slow)], 1),
      accounts(1, [...times(15, slow), fast], 2),
    ];
    const delays = simulate([...first, ...accounts(count, times(16, slow), 100), ...last], seconds, 40);
    for (const own of [delays[0], delays.at(-1)]) {
      expect(own).toHaveLength(seconds);
      expect(Math.max(...(own ?? []))).toBeLessThan(500);
    }
  },
);

test('the hung receivers of an account do not delay its others', () => {
  const own = { fast: [fast, ...times(8, hung)], slow: [takes(1_500), ...times(8, hung)] };
  expect(isEachLessThan(longestDelays([], own), 500)).toEqual(all(own));
});

test('a new webhook gets its first event at once, although the receivers of 20 accounts are hung', () => {
  const added = Array.from({ length: 8 }, (_, at) => {
    return { account: at + 1, receiver: fast, from: (seconds / 2 + at) * 1_000 };
  });
  const others = accounts(20, times(16, together(14_000)), 100);
  const delays = simulate([...others, ...added], seconds, 20);
  for (const [first] of delays.slice(-added.length)) expect(first).toBeLessThan(500);
});
