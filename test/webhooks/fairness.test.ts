/** How late events are sent while the receivers of other accounts are slow or hung. */
import { describe, expect, test } from 'bun:test';
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
  spreadMs: number,
): Record<string, number> {
  const names = Object.keys(own);
  const mine = Object.values(own).flatMap((receivers, at) => accounts(1, receivers, at + 1));
  const half = Math.floor(others.length / 2);
  const delays = simulate([...others.slice(0, half), ...mine, ...others.slice(half)], seconds, spreadMs);
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
  twoSlow: [takes(1_500), takes(1_500)],
};

type Bounds = Partial<Record<keyof typeof own, number>>;

/** `twoSlow` is undefined if the account needs more than its share of the places. */
const bound = (slow: number, slowWithHung: number, twoSlow?: number): Bounds => {
  return { fast: 0, fastWithHung: 0, slow, slowWithHung, ...(twoSlow !== undefined && { twoSlow }) };
};

/** Responses arrive at the same moment, or one after the other. */
const [atOnce, spread] = [1, 30];

/** Responds at once in the first 400 ms of each period, and otherwise at its end. */
const atFirst: Receiver = (now) => (now % 9_800 < 400 ? 5 : 9_800 - (now % 9_800));

/** The receivers of each of 20 other accounts, and bounds for the delays of `own` in ms. */
const attacks: readonly (readonly [string, number, readonly Receiver[], Bounds])[] = [
  ['16 hang', atOnce, times(16, hung), bound(0, 0, 0)],
  ['16 take 960 ms', atOnce, times(16, takes(960)), bound(50, 50, 1_000)],
  ['16 take 2.9 s', atOnce, times(16, takes(2_900)), bound(1_500, 6_000)],
  ['16 take 9.6 s', atOnce, times(16, takes(9_600)), bound(0, 1_000, 1_000)],
  ['16 take 9.6 s, spread', spread, times(16, takes(9_600)), bound(0, 1_000, 1_000)],
  ['16 in steps of 9.8 s', atOnce, times(16, together(9_800)), bound(0, 1_000, 1_000)],
  [
    '10 take 960 ms, 6 take 9.6 s',
    atOnce,
    [...times(10, takes(960)), ...times(6, takes(9_600))],
    bound(50, 50, 50),
  ],
  ['16 alternate', atOnce, times(16, alternating), bound(50, 50, 50)],
  [
    '3 hang, 6 in steps of 9.8 s, 7 take 960 ms',
    atOnce,
    [...times(3, hung), ...times(6, together(9_800)), ...times(7, takes(960))],
    bound(50, 3_000, 6_000),
  ],
  [
    '6 respond only at first, 5 in steps of 9.8 s, 5 hang',
    atOnce,
    [...times(6, atFirst), ...times(5, together(9_800)), ...times(5, hung)],
    bound(50, 1_000, 2_000),
  ],
  [
    '10 in steps of 2.9 s, 6 hang, spread',
    spread,
    [...times(10, together(2_900)), ...times(6, hung)],
    bound(1_000, 3_000),
  ],
];

test.each(attacks)(
  'the receivers of 20 accounts do not delay the events of others: %s',
  (_, spreadMs, receivers, bounds) => {
    const delays = longestDelays(accounts(20, receivers, 100), own, spreadMs);
    for (const [name, most] of Object.entries(bounds))
      expect({ [name]: delays[name], isInTime: (delays[name] ?? 0) <= most }).toMatchObject({
        isInTime: true,
      });
  },
);

describe.each([atOnce, spread])('with responses within %d ms of each other', (spreadMs) => {
  test('the hung receivers of an account do not delay its slow ones', () => {
    const own = { slow: times(16, takes(1_500)), mixed: [takes(1_500), ...times(8, hung)] };
    const { slow = 0, mixed } = longestDelays([], own, spreadMs);
    expect([slow < 1_000, mixed]).toEqual([true, 0]);
  });

  test.each([
    [8, 4],
    [20, 2],
  ])('%d accounts with %d slow receivers get the 60 places that they need', (count, receivers) => {
    const others = accounts(count - 1, times(receivers, takes(1_500)), 100);
    const { slow = 0 } = longestDelays(others, { slow: times(receivers, takes(1_500)) }, spreadMs);
    expect(slow).toBeLessThan(1_000);
  });

  test('a new webhook gets its first event at once, although the receivers of 20 accounts are hung', () => {
    const added = Array.from({ length: 8 }, (_, at) => {
      return { account: at + 1, receiver: fast, from: (seconds / 2 + at) * 1_000 };
    });
    const others = accounts(20, times(16, together(14_000)), 100);
    const delays = simulate([...others, ...added], seconds, spreadMs);
    expect(delays.slice(-added.length).map(([first]) => first)).toEqual(times(added.length, 0));
  });
});
