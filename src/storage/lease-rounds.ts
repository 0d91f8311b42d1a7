/** How a round divides the free places of a process among webhooks, and where the next round continues. */
import {
  accountRoom,
  deliverySchedule,
  eventBatchSize,
  hasSparePlaces,
  type LeasedDelivery,
  type LeaseRequest,
  type LeaseResult,
  leaseLimits,
  maxInFlight,
} from '../domain/delivery.ts';
import type { LeasedRow, ReadyWebhook } from './delivery-row.ts';

/** The part of the places that a webhook gets in a round. */
interface LeaseShare {
  readonly id: bigint;
  /** Maximum number of requests in flight. */
  readonly limit: number;
  /** Number of requests in flight, including the deliveries that may be leased. */
  count: number;
  /** Number of deliveries that may be leased. */
  most: number;
  /** The pace of the account before these leases. */
  readonly pace: ReturnType<typeof deliverySchedule>;
}

type LeaseShares = ReadonlyMap<bigint, Readonly<LeaseShare>>;

/** An account with webhooks that are ready. */
interface Taker {
  /** Number of requests in flight, including the deliveries that may be leased. */
  used: number;
  /** Number of deliveries that the pace of the account still allows. */
  allowed: number;
  readonly shares: readonly LeaseShare[];
}

const sum = (requests: LeaseRequest['inFlight']) => requests.reduce((total, { count }) => total + count, 0);

/** Returns a function that returns the maximum number of requests in flight to a webhook. */
function webhookLimits(request: LeaseRequest): (webhookId: bigint) => number {
  const [stalled, suspended] = [new Set(request.stalled), new Set(request.suspended)];
  return (id) => {
    if (suspended.has(id)) return 0;
    return stalled.has(id) ? maxInFlight.perStalled : maxInFlight.perWebhook;
  };
}

/**
 * Whether a webhook may have another request, with this much room for the account. The more it has, the more places it leaves
 * to the other webhooks of the account.
 */
const hasPlace = ({ count, limit }: Pick<LeaseShare, 'count' | 'limit'>, room: number, isSpare: boolean) =>
  count < limit && ((room > 0 && count <= room) || (count === 0 && isSpare));

/**
 * The `accounts` and `webhooks` that get no deliveries now, and those webhooks of which this process has leased deliveries
 * (`held`), as JSON arrays of ids.
 */
export function occupiedJson(request: LeaseRequest): string {
  const { free, inFlight, suspended } = request;
  const limitOf = webhookLimits(request);
  const isSpare = hasSparePlaces(free);
  const accounts = [...Map.groupBy(inFlight, ({ accountId }) => accountId)];
  const rooms = new Map(accounts.map(([id, webhooks]) => [id, accountRoom(free, sum(webhooks))]));
  const occupied = inFlight.filter(
    ({ webhookId, accountId, count }) =>
      !hasPlace({ count, limit: limitOf(webhookId) }, rooms.get(accountId) ?? 0, isSpare),
  );
  const lists = {
    accounts: [...rooms].filter(([, room]) => room <= 0 && !isSpare).map(([id]) => id),
    webhooks: [...occupied.map(({ webhookId }) => webhookId), ...suspended],
    held: inFlight.map(({ webhookId }) => webhookId),
  };
  // Ids may exceed the safe integers of JavaScript.
  const members = Object.entries(lists).map(([name, ids]) => `"${name}":[${ids.join()}]`);
  return `{${members.join()}}`;
}

/**
 * Divides the pace of each account and the places, one delivery at a time: accounts take turns, those with the fewest requests
 * first, and so do the webhooks of an account. Otherwise, a random account and a random one of its webhooks are the first.
 */
export function divideLeases(found: readonly ReadyWebhook[], request: LeaseRequest): LeaseShares {
  const accounts = [...Map.groupBy(found, ({ accountId }) => accountId).values()];
  // The fraction that the choice of the account leaves, so that the two choices are independent.
  const ownTurn = (request.turn * accounts.length) % 1;
  const limitOf = webhookLimits(request);
  const all = startingAt(accounts, request.turn)
    .map((webhooks) => takerOf(startingAt(webhooks, ownTurn), request, limitOf))
    .sort((one, other) => one.used - other.used);
  let { free, room } = request;
  for (let takers = all; takers.length > 0 && room > 0; )
    takers = takers.filter((taker) => {
      const hasTaken = room > 0 && takeNext(taker, free);
      if (hasTaken) [free, room] = [free - 1, room - 1];
      return hasTaken;
    });
  return new Map(all.flatMap(({ shares }) => shares).map((share) => [share.id, share]));
}

/** Whether some webhooks got less than they might have sent, while others had less to send than they got. */
function isMisdivided(shares: LeaseShares, leased: readonly Pick<LeasedRow, 'webhookId'>[]): boolean {
  const counts = new Map<bigint, number>();
  for (const { webhookId } of leased) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
  const all = [...shares.values()].map((share) => ({
    ...share,
    unused: share.most - (counts.get(share.id) ?? 0),
  }));
  return all.some(({ unused }) => unused > 0) && all.some((one) => one.unused === 0 && one.count < one.limit);
}

function takerOf(
  webhooks: readonly ReadyWebhook[],
  { inFlight, ...request }: LeaseRequest,
  limitOf: (webhookId: bigint) => number,
): Taker {
  const pace = deliverySchedule(Number(webhooks[0]?.pacedUntil), request);
  const own = inFlight.filter(({ accountId }) => BigInt(accountId) === webhooks[0]?.accountId);
  const shares = webhooks.map(({ id }) => {
    const count = own.find(({ webhookId }) => webhookId === id)?.count ?? 0;
    return { id, limit: limitOf(id), count, most: 0, pace };
  });
  return { used: sum(own), allowed: pace.allowed, shares };
}

/** Gives a delivery to the webhook of an account with the fewest requests. Returns false if none may have another one. */
function takeNext(taker: Taker, free: number): boolean {
  const room = accountRoom(free, taker.used);
  const isSpare = hasSparePlaces(free);
  const open = taker.shares.filter((share) => hasPlace(share, room, isSpare));
  const [next] = open.toSorted((one, other) => one.count - other.count);
  if (next === undefined || taker.allowed <= 0) return false;
  next.count++;
  next.most++;
  taker.used++;
  taker.allowed--;
  return true;
}

function startingAt<T>(all: readonly T[], turn: number): T[] {
  const first = Math.floor(turn * all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}

/** The pace of each account after these deliveries have been leased. */
export function updatedPaces(taken: readonly LeasedDelivery[], shares: LeaseShares) {
  return [...Map.groupBy(taken, ({ accountId }) => accountId)].flatMap(([accountId, leased]) => {
    const pace = shares.get(leased[0]?.webhookId ?? 0n)?.pace;
    if (pace === undefined) return [];
    const pacedUntil = pace.from + leased.length * pace.interval;
    return [{ accountId, pacedUntil, isUsedUp: leased.length >= pace.allowed }];
  });
}

/**
 * If this round leased as many deliveries as it had room for, the next round starts after the last webhook with a
 * leased delivery, or in the same place if there was none. If it found its maximum number of webhooks, the next round
 * starts after the last of them. Otherwise, the next round starts at the first webhook.
 */
export function nextRound(
  found: readonly Pick<ReadyWebhook, 'id' | 'isBehind' | 'position'>[],
  leased: readonly Pick<LeasedRow, 'webhookId'>[],
  { after, room }: Pick<LeaseRequest, 'after' | 'room'>,
  { last, shares }: { readonly last: bigint; readonly shares: LeaseShares },
): Pick<LeaseResult, 'after' | 'isMore' | 'isBehind'> {
  const behind = found.filter((webhook) => webhook.isBehind);
  const portion = BigInt(eventBatchSize(behind.length));
  const isBehind = behind.some(({ position }) => position + portion < last);
  if (leased.length >= room) {
    const served = leased.reduce((highest, { webhookId: id }) => (id > highest ? id : highest), after);
    return { after: served, isMore: isBehind || leased.length > 0, isBehind };
  }
  const isFull = found.length === leaseLimits.webhooks;
  return {
    after: isFull ? (found.at(-1)?.id ?? 0n) : 0n,
    // Webhooks that were behind and have nothing to send are not found again.
    isMore:
      isFull ||
      after > 0n ||
      isBehind ||
      (isMisdivided(shares, leased) && (leased.length > 0 || behind.length > 0)),
    isBehind,
  };
}
