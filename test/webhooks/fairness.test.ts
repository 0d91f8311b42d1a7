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

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** Webhooks of accounts that each have these receivers. */
function accounts(count: number, receivers: readonly Receiver[], firstAccount: number): SimulatedWebhook[] {
  return times(count, receivers).flatMap((all, at) =>
    all.map((receiver) => ({ account: firstAccount + at, receiver })),
  );
}

const warmupSeconds = 30;
const seconds = 60;

/** The longest delay of the events after the first 30 s, for each of these accounts' first webhooks. */
function longestDelays(
  others: readonly SimulatedWebhook[],
  own: Readonly<Record<string, readonly Receiver[]>>,
): Record<string, number> {
  const names = Object.keys(own);
  const mine = Object.values(own).flatMap((receivers, at) => accounts(1, receivers, at + 1));
  const half = Math.floor(others.length / 2);
  const delays = simulate([...others.slice(0, half), ...mine, ...others.slice(half)], seconds);
  const firsts = names.map((_, at) => half + mine.findIndex(({ account }) => account === at + 1));
  const sent = firsts.map((at) => (delays[at] ?? []).slice(warmupSeconds));
  // An event that is never sent is later than all others.
  const missing = (count: number) => (count < seconds - warmupSeconds - 5 ? Number.POSITIVE_INFINITY : 0);
  return Object.fromEntries(
    names.map((name, at) => [name, Math.max(missing(sent[at]?.length ?? 0), ...(sent[at] ?? []))]),
  );
}

const own = {
  fast: [fast],
  fastWithHung: [fast, hung],
  slow: [takes(1_500)],
  slowWithHung: [takes(1_500), hung],
};

type Bounds = Partial<Record<keyof typeof own, number>>;

/** The receivers of each of 20 other accounts, and bounds for the delays of `own` in ms. */
const attacks: readonly (readonly [string, readonly Receiver[], Bounds])[] = [
  ['16 hung receivers', times(16, hung), { fast: 0, fastWithHung: 0, slow: 0, slowWithHung: 0 }],
  ['16 receivers of 2.9 s', times(16, takes(2_900)), { fast: 0, fastWithHung: 0, slow: 1_000 }],
  [
    '16 receivers of 960 ms',
    times(16, takes(960)),
    { fast: 0, fastWithHung: 0, slow: 100, slowWithHung: 100 },
  ],
  ['16 receivers of 9.8 s in step', times(16, together(9_800)), { fast: 0, fastWithHung: 0, slow: 5_000 }],
  [
    '16 alternating receivers',
    times(16, alternating),
    { fast: 0, fastWithHung: 50, slow: 50, slowWithHung: 50 },
  ],
  [
    'fast, slow and hung receivers',
    [...times(3, hung), ...times(6, together(9_800)), ...times(7, takes(960))],
    { fast: 0, fastWithHung: 1_000, slow: 5_000 },
  ],
];

test.each(attacks)(
  'beside 20 accounts with %s, events of others are sent in time',
  (_, receivers, bounds) => {
    const delays = longestDelays(accounts(20, receivers, 100), own);
    for (const [name, most] of Object.entries(bounds))
      expect({ [name]: delays[name], isInTime: (delays[name] ?? 0) <= most }).toMatchObject({
        isInTime: true,
      });
  },
);

test('without other accounts, the hung receivers of an account do not delay its slow ones', () => {
  expect(
    longestDelays([], { slow: times(16, takes(1_500)), mixed: [takes(1_500), ...times(8, hung)] }),
  ).toEqual({
    slow: 0,
    mixed: 0,
  });
});

test('accounts that need half of the places get them', () => {
  const { slow = 0 } = longestDelays(accounts(7, times(4, takes(1_500)), 100), {
    slow: times(4, takes(1_500)),
  });
  expect(slow).toBeLessThan(1_000);
});

test('a new webhook gets its first event at once, although the receivers of 20 accounts are hung', () => {
  const added = Array.from({ length: 8 }, (_, at) => {
    return { account: at + 1, receiver: fast, from: (seconds / 2 + at) * 1_000 };
  });
  const delays = simulate([...accounts(20, times(16, together(14_000)), 100), ...added], seconds);
  expect(delays.slice(-added.length).map(([first]) => first)).toEqual(times(added.length, 0));
});
