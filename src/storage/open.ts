import type { Clock } from '../domain/clock.ts';
import type { LimitRules } from '../domain/limit.ts';
import { openSqlite } from './sqlite/sqlite.ts';
import { type Storage, StorageUnusable } from './storage.ts';

export interface StorageOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly serving: boolean;
}

/** Opens the store a URL names. Throws `StorageUnusable` with what to do about it. */
export async function openStorage({ url, ...options }: StorageOptions): Promise<Storage> {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  if (path === undefined) throw new StorageUnusable(`There is no store for the URL "${url}".`);
  return openSqlite({ path, ...options });
}
