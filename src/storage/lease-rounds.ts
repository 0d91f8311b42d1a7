/** How a round divides the free places of a process among webhooks, and where the next round continues. */
import {
  type AccountLeases,
  deliverySchedule,
  eventBatchSize,
  type LeasedDelivery,
  type LeaseRequest,
  type LeaseResult,
  leaseLimits,
  maxInFlight,
  maxLeasedPerFast,
  maxWebhookLeases,
  mayLease,
  type Pool,
  poolRoom,
  pools,
} from '../domain/delivery.ts';
import type { LeasedRow, ReadyWebhook } from './delivery-row.ts';

/** Number of deliveries of an account in the pools other than the fast one. */
function usedOutsideFast(accountId: number, { used: { slow, new: unknown, stalled } }: LeaseRequest): number {
  return (slow[accountId] ?? 0) + (unknown[accountId] ?? 0) + (stalled[accountId] ?? 0);
}

/** The part of the room that a webhook gets in a round. */
interface LeaseShare {
  readonly id: bigint;
  /** Maximum number of deliveries that the webhook may have. */
  readonly wanted: number;
  /** Number of deliveries that may be leased. */
  most: number;
  /** The pace of the account before these leases. */
  readonly pace: ReturnType<typeof deliverySchedule>;
}

type LeaseShares = ReadonlyMap<bigint, Readonly<LeaseShare>>;

interface Account {
  readonly isDistrusted: boolean;
  /** Number of deliveries that the account has in the pools other than the fast one. */
  usedOutsideFast: number;
  /** Number of deliveries that the pace of the account still allows. */
  left: number;
}

/** The webhooks of an account that are in the same pool. */
interface AccountPool {
  readonly pool: Pool;
  /** Number of deliveries that the account has in the pool. */
  used: number;
  /** Number of deliveries that the account may still get from the pool in this round. */
  left: number;
  readonly account: Account;
  readonly shares: readonly LeaseShare[];
  /** The webhooks that may get more deliveries, the next one first. */
  readonly waiting: LeaseShare[];
}

/**
 * Number of deliveries that an account gets in a round if more webhooks are ready than a round finds, because later rounds
 * find other accounts. The longer receivers may hold places, the smaller it is.
 */
function perRound(pool: Pool, request: LeaseRequest): number {
  if (pool === 'fast') return maxLeasedPerFast;
  return pool === 'slow'
    ? Math.max(2, Math.floor(poolRoom(pool, request) / Math.max(1, request.activeAccounts)))
    : 1;
}

/**
 * Whether accounts may get more deliveries, as JSON: 1 or 0 by pool and account id (`fast 7`). The member `fast *` applies
 * to all accounts without a member.
 */
export function eligibleAccountsJson(request: LeaseRequest): string {
  const { slow, new: unknown, stalled } = request.used;
  const distrusted = new Set(request.distrusted);
  const members = pools.flatMap((pool) => {
    const room = poolRoom(pool, request);
    const used = pool === 'fast' ? [request.used.fast] : [slow, unknown, stalled];
    // Without room, there are only the reserved places, which are not for distrusted accounts.
    const others = pool === 'fast' && room === 0 ? distrusted : [];
    const ids = new Set([...used.flatMap((leases) => Object.keys(leases)).map(Number), ...others]);
    const mayLeaseFor = (leases: AccountLeases) => Number(mayLease(pool, room, leases));
    return [
      [`${pool} *`, mayLeaseFor({ used: 0, usedOutsideFast: 0, isDistrusted: false })],
      ...[...ids].map((id) => {
        const leases = { used: request.used[pool][id] ?? 0, usedOutsideFast: usedOutsideFast(id, request) };
        return [`${pool} ${id}`, mayLeaseFor({ ...leases, isDistrusted: distrusted.has(id) })];
      }),
    ];
  });
  return JSON.stringify(Object.fromEntries(members));
}

/**
 * Divides the pace of each account and the room, one delivery at a time: accounts take turns, and so do the webhooks of an
 * account. A random account and a random one of its webhooks are the first.
 */
export function divideLeases(found: readonly ReadyWebhook[], request: LeaseRequest): LeaseShares {
  const accounts = [...Map.groupBy(found, ({ accountId }) => accountId).values()];
  // The fraction that the choice of the account leaves, so that the two choices are independent.
  const ownTurn = (request.turn * accounts.length) % 1;
  const isAll = found.length < leaseLimits.webhooks && request.after === 0n;
  const all = startingAt(accounts, request.turn).flatMap((webhooks) =>
    accountPools(startingAt(webhooks, ownTurn), request, isAll),
  );
  const occupancy = { free: request.free, inFlight: { ...request.inFlight } };
  let takers = all.toSorted((one, other) => one.used - other.used);
  while (takers.length > 0) takers = takers.filter((taker) => takeNext(taker, occupancy));
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
  return all.some(({ unused }) => unused > 0) && all.some((one) => one.unused === 0 && one.most < one.wanted);
}

/** `isAll`: whether the round has found all webhooks that are ready. */
function accountPools(
  webhooks: readonly ReadyWebhook[],
  request: LeaseRequest,
  isAll: boolean,
): AccountPool[] {
  const accountId = Number(webhooks[0]?.accountId);
  const pace = deliverySchedule(Number(webhooks[0]?.pacedUntil), request);
  const account = {
    isDistrusted: request.distrusted.includes(accountId),
    usedOutsideFast: usedOutsideFast(accountId, request),
    left: pace.allowed,
  };
  return [...Map.groupBy(webhooks, ({ pool }) => pool)].map(([pool, ofPool]) => {
    const shares = likeliestFirst(ofPool).map(({ id }) => {
      return { id, wanted: request.held[String(id)] ?? maxWebhookLeases(pool), most: 0, pace };
    });
    return {
      pool,
      used: request.used[pool][accountId] ?? 0,
      left: isAll ? Number.POSITIVE_INFINITY : perRound(pool, request),
      account,
      shares,
      waiting: shares.filter(({ wanted }) => wanted > 0),
    };
  });
}

/** Gives the next webhook a delivery. Returns false if the account cannot get more from this pool. */
function takeNext(
  taker: AccountPool,
  occupancy: { free: number; readonly inFlight: Record<Pool, number> },
): boolean {
  const { pool, account, waiting } = taker;
  const [next] = waiting;
  const isLeft = taker.left > 0 && account.left > 0 && occupancy.free > 0;
  const leases = { ...account, used: taker.used };
  if (next === undefined || !isLeft || !mayLease(pool, poolRoom(pool, occupancy), leases)) return false;
  waiting.shift();
  next.most++;
  if (next.most < next.wanted) waiting.push(next);
  taker.used++;
  taker.left--;
  account.left--;
  if (pool !== 'fast') account.usedOutsideFast++;
  // Deliveries leased in advance do not occupy places.
  if (next.most <= maxInFlight.perWebhook) {
    occupancy.free--;
    occupancy.inFlight[pool]++;
  }
  return true;
}

/** Webhooks that are new to this process in the order in which they are likely to respond. */
function likeliestFirst(webhooks: readonly ReadyWebhook[]): readonly ReadyWebhook[] {
  if (webhooks[0]?.pool !== 'new') return webhooks;
  return webhooks.toSorted((one, other) => Number((other.succeededAt ?? 0n) - (one.succeededAt ?? 0n)));
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
