/** Two instances of one store on a Redis Cluster, and callers whose shards are known. */
import { expect } from 'bun:test';
import { openStore } from '../../src/app/store.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { createShardTags, hashSlot } from '../../src/limits/redis/cluster/slots.ts';
import type { Store } from '../../src/operations/units.ts';
import { patient } from '../storage/cluster-place.ts';
import { strictRules } from '../storage/place.ts';
import { callerWith } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import type { RedisCluster, RedisNode } from '../support/redis-cluster.ts';
import type { TestServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { take } from './limit-bench.ts';

export interface Instance extends AsyncDisposable {
  readonly store: Store;
  /** Notices for operators. */
  readonly notices: string[];
}

interface ClusterBench extends AsyncDisposable {
  readonly one: Instance;
  readonly other: Instance;
  readonly clock: FakeClock;
  readonly prefix: string;
  open(url?: string, isServing?: boolean): Promise<Instance>;
}

export async function clusterBench(servers: TestServers, redisUrl: string): Promise<ClusterBench> {
  await using opened = new AsyncDisposableStack();
  const schema = opened.use(await servers.makeSchema());
  const prefix = servers.makePrefix();
  const clock = new FakeClock();
  const open = async (url = redisUrl, isServing = true): Promise<Instance> => {
    const notices: string[] = [];
    const store = await openStore({
      url: schema.url,
      clock,
      rules: strictRules,
      isServing,
      cluster: { ...patient, redisUrl: url, redisPrefix: prefix },
      notice: (text) => notices.push(text),
    });
    return { store, notices, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  };
  const one = opened.use(await open());
  const other = opened.use(await open());
  const kept = opened.move();
  return { one, other, clock, prefix, open, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const tags = createShardTags();

/** The cluster slot of an account's keys. */
export function slotOfAccount(accountId: number): number {
  return hashSlot(`{${tags[accountId % tags.length]}}`);
}

/** Account ids, two for each shard. */
export const accountIds: readonly number[] = Array.from({ length: 2 * tags.length }, (_, index) => index + 1);

export function callerOf(accountId: number, quota = { perMinute: 5, perDay: 100 }) {
  return callerWith({ accountId, keyId: accountId, quota });
}

export const ample = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };
export const isWhole = ({ store }: Instance) => store.health().length === 0;
export const isPartly = ({ store }: Instance) => store.health().includes(troubles.redisPart);
export const both = ({ one, other }: ClusterBench, holds: (instance: Instance) => boolean) =>
  until(() => holds(one) && holds(other));

/**
 * Waits until both instances agree on the number of requests that remain for an account today, and returns this number.
 */
export async function remaining({ one, other }: ClusterBench, accountId: number): Promise<number> {
  let left: readonly number[] = [];
  await until(async () => {
    const ofBoth = await Promise.all(
      [one, other].map(({ store }) => store.limits.standing(callerOf(accountId, ample))),
    );
    left = ofBoth.map(({ verdict }) => verdict.day.remaining);
    return left[0] === left[1];
  });
  return left[0] as number;
}

/** Sends requests from an account to both instances, ten at a time, until `stop` is called. */
export function load({ one, other }: ClusterBench, accountId: number) {
  let isStopped = false;
  let sent = 0;
  const send = async (index: number) => {
    while (!isStopped) {
      sent++;
      const { errorCode } = await take((index % 2 === 0 ? one : other).store, callerOf(accountId, ample));
      expect(errorCode).toBeUndefined();
    }
  };
  const done = Promise.all(Array.from({ length: 10 }, (_, index) => send(index)));
  const stop = async () => {
    isStopped = true;
    await done;
    return sent;
  };
  return {
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
    more: async (count: number) => {
      const enough = sent + count;
      await until(() => sent >= enough);
    },
  };
}

/** Ids of the accounts whose shard is on this node. */
export async function accountsOn(cluster: RedisCluster, node: RedisNode): Promise<number[]> {
  const owners = await Promise.all(accountIds.map((id) => cluster.ownerOf(slotOfAccount(id))));
  return accountIds.filter((_, index) => owners[index] === node);
}
