/** Checks that events reach receivers that fail in every possible way, while the sending processes are killed. */
import { AnimalStore } from '../../client/src/index.ts';
import { until } from '../support/wait.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { Failures } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import { openOrThrow, type StressOptions, type StressResult, type StressTest } from './stress-test.ts';
import { checkCalm, checkDeliveries } from './webhook-check.ts';
import { receiverKinds } from './webhook-kinds.ts';
import type { Receiver } from './webhook-receivers.ts';
import { deliveriesOf, Faults, Feed, Receivers, Writing } from './webhook-world.ts';

export const webhookSettings = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_DELIVERIES_PER_SECOND: '10000',
};

/** Number of changes between two kills. */
const changesPerKill = { from: 4, to: 24 } as const;
const requestsPerKill = 60;
const untilKillMs = 3_000;
/**
 * Time by which the clocks advance while all processes are down. Long enough for leases to expire and for the third
 * attempt.
 */
const skippedMs = { from: 61_000, to: 280_000 } as const;
/** Maximum number of times the clocks are advanced. A delivery has only ten attempts. */
const mostSkips = 20;
/** Maximum total by which the clocks are advanced. It is less than the 7 days for which deliveries are listed. */
const mostAheadMs = 6.8 * 86_400_000;
const idleMs = 700;
/** Maximum delay of a delivery that is due. The leases of killed processes expire after 60 s. */
const stuckMs = 120_000;
const patienceMs = 900_000;

export interface Proof {
  readonly place: ShopPlace;
  readonly store: AnimalStore;
  readonly feed: Feed;
  readonly faults: Faults;
  readonly receivers: Receivers;
  readonly writing: Writing;
  readonly failures: Failures;
}

/** `rounds` is the number of kills. */
export async function everyDelivery(
  place: ShopPlace,
  { rounds, seed, progress }: StressOptions,
  kinds = receiverKinds,
): Promise<StressResult> {
  await using proxy = await cuttingProxy(place.urls, new Chance(seed, -1), { part: 0, fates: [], lateMs: 0 });
  const store = new AnimalStore({ key: place.key, url: proxy.url, timeoutMs: 10_000 });
  const failures = new Failures(seed);
  const faults = new Faults(place);
  const world = { failures, aheadMs: () => faults.aheadMs };
  await using receivers = new Receivers(kinds, world, seed);
  await receivers.subscribe(store);
  using writing = new Writing(store, seed);
  const proof = { place, store, feed: new Feed(), faults, receivers, writing, failures };
  writing.begin(failures);
  const chance = new Chance(seed, -2);
  for (let kill = 1; kill <= rounds && failures.count === 0; kill++) {
    progress(`${kill} of ${rounds} kills, ${writing.done} changes, ${receivers.requests} requests`);
    await failures.guard(`kill ${kill}`, () => killOnce(proof, chance));
  }
  await until(() => writing.done >= writing.allowed || failures.count > 0, patienceMs);
  for (const receiver of receivers.all) {
    const { isDurable, name } = receiver.kind;
    // The hanging receiver must respond from now on, because otherwise the remaining deliveries would take hours.
    receiver.isCalm = !isDurable || name === 'hanging';
  }
  failures.end();
  const skips = await sendTheRest(proof, progress);
  failures.end();
  await checkCalm(proof);
  const checked = await checkDeliveries(proof);
  return {
    events: proof.feed.events.length,
    'changes without a response': writing.unanswered,
    ...faults.tally,
    'of these with time skipped, after the last change': skips,
    'hours skipped': Math.round(place.aheadMs / 3_600_000),
    ...checked,
  };
}

async function killOnce({ place, receivers, faults, writing, store, feed }: Proof, chance: Chance) {
  const since = performance.now();
  const isLate = () => performance.now() - since > untilKillMs;
  const changes = writing.done + chance.int(changesPerKill.from, changesPerKill.to);
  writing.allowed = writing.done + changesPerKill.to;
  await until(() => writing.done >= changes || isLate());
  const requests = receivers.requests + chance.int(1, requestsPerKill);
  await until(() => receivers.requests >= requests || isLate());
  const { takeAway } = place;
  if (takeAway !== undefined && chance.often(0.3)) await faults.disturb(() => takeAway(chance));
  // The leases of a killed instance delay its deliveries for a minute, so the clocks are advanced more often on
  // clusters.
  const skips = chance.often(takeAway === undefined ? 0.15 : 0.3);
  if (skips) await faults.skip(chance.int(skippedMs.from, skippedMs.to));
  else await faults.disturb(async () => `kills of ${await place.kill(chance)}`);
  await enableAgain(receivers.named('gone'), { store, feed, place });
}

/** Enables the receiver's webhook again if it was disabled. The webhook then gets only later events. */
async function enableAgain(
  receiver: Receiver,
  { store, feed, place }: Pick<Proof, 'store' | 'feed' | 'place'>,
): Promise<void> {
  const { enabled } = await store.webhooks.get(receiver.webhookId);
  if (enabled) return;
  const patched = store.webhooks.update(receiver.webhookId, { enabled: true });
  // If the update gets no response, the webhook is checked again after the next kill.
  receiver.from = Number.POSITIVE_INFINITY;
  const isEnabled = await patched.then(
    () => true,
    () => false,
  );
  if (isEnabled) receiver.from = (await feed.update(place)).at(-1)?.id ?? 0;
}

/**
 * Advances the clocks until every event has reached its receivers or their webhooks are disabled. Returns how often the
 * clocks were advanced.
 */
async function sendTheRest(proof: Proof, progress: (line: string) => void): Promise<number> {
  const { place, receivers, faults, failures } = proof;
  for (let skips = 0; ; skips++) {
    let missing: Missing = { dueAts: [], events: 0, webhooks: '' };
    await until(async () => {
      missing = await missingIn(proof);
      const isOver = missing.webhooks === '';
      if (!isOver && receivers.idleMs > stuckMs) throw new Error(`No requests are sent: ${missing.webhooks}`);
      const isDue = missing.dueAts.some((at) => at <= faults.now());
      return isOver || failures.count > 0 || (!isDue && receivers.idleMs > idleMs);
    }, patienceMs);
    progress(`${missing.events} events missing, ${missing.dueAts.length} pending`);
    if (missing.webhooks === '' || failures.count > 0) return skips;
    const ms = Math.max(...missing.dueAts, faults.now() + skippedMs.from) - faults.now() + 1_000;
    if (skips === mostSkips || place.aheadMs + ms > mostAheadMs)
      throw new Error(`Events are missing: ${missing.webhooks}`);
    await faults.skip(ms);
  }
}

interface Missing {
  /** Times of the next attempts of pending deliveries, in Unix ms. */
  readonly dueAts: readonly number[];
  readonly events: number;
  /** For each receiver, the numbers of missing events and pending deliveries. */
  readonly webhooks: string;
}

async function missingIn({ place, store, feed, receivers }: Proof): Promise<Missing> {
  await feed.update(place);
  const dueAts: number[] = [];
  let events = 0;
  const webhooks: string[] = [];
  for (const receiver of receivers.all) {
    const { enabled } = await store.webhooks.get(receiver.webhookId);
    if (!enabled) {
      if (receiver.kind.isDurable) throw new Error(`The webhook of ${receiver.kind.name} is disabled.`);
      continue;
    }
    const lacking = feed.wantedBy(receiver).filter(({ id }) => !receiver.delivered.has(id)).length;
    const pending = await deliveriesOf(store, receiver, 'pending');
    for (const { nextAttemptAt = '' } of pending) dueAts.push(Date.parse(nextAttemptAt));
    events += lacking;
    if (lacking + pending.length > 0)
      webhooks.push(`${receiver.kind.name}: ${lacking} events, ${pending.length} pending`);
  }
  return { dueAts, events, webhooks: webhooks.join('; ') };
}

export const webhookTests: readonly StressTest[] = shopKinds.map(({ name, title, open }) => ({
  name: `webhooks${name}`,
  promise:
    'every event reaches each receiver that sometimes fails, sends Retry-After, redirects, hangs, closes early or sends garbage, ' +
    'signed and as in the feed, and more than once only after a kill; the webhook of a receiver that fails for days or is gone is ' +
    `disabled, with an event; and the listed deliveries match what receivers saw, despite kill -9 and outages, ${title} (rounds: kills)`,
  rounds: 500,
  async run(options) {
    await using place = await openOrThrow(() => open(webhookSettings));
    return await everyDelivery(place, options);
  },
}));
