import type { SharedVersions } from '../../domain/shared-versions.ts';
import type { LimitRules } from '../limit.ts';
import type { LocalLimits } from './local-limits.ts';
import type { RedisServers } from './servers.ts';
import type { SnapshotStore } from './snapshot-store.ts';

export interface RedisContext {
  readonly servers: RedisServers;
  readonly rules: LimitRules;
  readonly versions: SharedVersions;
  readonly localLimits: LocalLimits;
  readonly snapshotStore: SnapshotStore;
  /** Unique name of this process in Redis, 8 bytes. */
  readonly process: string;
  /**
   * Returns the number of the next command that counts requests. The number prevents a request from being counted twice
   * if its command times out but arrives later.
   */
  readonly nextNumber: () => number;
}
