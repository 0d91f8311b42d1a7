import type { Clock } from '../domain/clock.ts';
import type { LimitRules } from '../domain/limit.ts';
import type { Notice } from './breaker.ts';
import { type ClusterSettings, openCluster } from './cluster.ts';
import { openSqlite } from './sqlite/sqlite.ts';
import { type Storage, StorageUnusable } from './storage.ts';

export interface StorageOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly serving: boolean;
  /** What a store on PostgreSQL needs besides; undefined where there is no Redis. */
  readonly cluster?: ClusterSettings | undefined;
  /** Is told what stops working and works again. */
  readonly notice?: Notice;
}

/** Opens the store a URL names. Throws `StorageUnusable` with what to do about it. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { url, clock, rules, serving, cluster, notice = () => {} } = options;
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  if (path !== undefined) return openSqlite({ path, clock, rules, serving });
  if (!/^postgres(?:ql)?:/.test(url)) throw new StorageUnusable(`There is no store for the URL "${url}".`);
  if (cluster === undefined) throw new StorageUnusable('PostgreSQL needs Redis beside it: set REDIS_URL.');
  return openCluster({ url, clock, rules, notice, ...cluster });
}
