import type { LimitRules } from '../../domain/limit.ts';
import type { SharedVersions } from '../shared-versions.ts';
import type { RedisClock } from './clock.ts';
import type { RedisKeys } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { LocalLimits } from './local-limits.ts';
import type { SnapshotStore } from './snapshot-store.ts';

export interface RedisContext {
  readonly link: RedisLink;
  readonly keys: RedisKeys;
  readonly clock: RedisClock;
  readonly rules: LimitRules;
  readonly versions: SharedVersions;
  readonly localLimits: LocalLimits;
  readonly snapshotStore: SnapshotStore;
  /** Names this process in Redis: 8 bytes that no other process has. */
  readonly process: string;
  /** Numbers what Redis is asked to count, so that a request given up for late counts once. */
  readonly nextNumber: () => number;
}
