import type { Clock } from '../../domain/clock.ts';
import { mapVersions, type Resource, resources, type Versions } from '../../domain/resources.ts';
import type { SharedVersions } from '../../domain/shared-versions.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { AccountBan } from '../snapshots.ts';
import { RedisClock } from './clock.ts';
import { OverloadedError } from './concurrency-limit.ts';
import type { RedisKeys } from './keys.ts';
import type { RunScript } from './link.ts';
import { parseBans, parseVersions } from './script-replies.ts';

/** Runs scripts on the node that has the keys of a shard. */
export interface ShardLink {
  /** Reason for the outage; undefined if the link works. */
  readonly trouble: string | undefined;
  readonly isBusy: boolean;
  /**
   * Whether to detect that another server process may have lost changes. False if the user may not run INFO, and on a
   * cluster, whose slots move between processes without loss.
   */
  readonly detectsProcess: boolean;
  /**
   * Rejects with `NoReplyError` if it is unknown whether the script ran, and otherwise with another `StorageUnavailable`.
   */
  readonly run: RunScript;
  /** Same as `run`, but rejects with `OverloadedError` before sending anything if too many requests are queued. */
  readonly ask: RunScript;
}

/**
 * A subset of the accounts and addresses, with all the keys that scripts need for them. A single Redis server has one
 * shard. On Redis Cluster, all keys of a shard are in one slot.
 */
export class Shard {
  readonly link: ShardLink;
  readonly keys: RedisKeys;
  readonly clock: RedisClock;
  /** Versions that the shard last reported. Scripts compare these versions with the shard's current versions. */
  lastReported: Versions = mapVersions(() => -1);

  constructor(link: ShardLink, keys: RedisKeys, clock: Clock) {
    this.link = link;
    this.keys = keys;
    this.clock = new RedisClock(clock);
  }

  /** Returns the result of `together`, or of `fallback` while Redis is down. Rejects with `OverloadedError` like `ask`. */
  async withFallback<T>(together: () => Promise<T>, fallback: () => Promise<T>): Promise<T> {
    if (this.link.trouble !== undefined) return fallback();
    try {
      return await together();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || error instanceof OverloadedError) throw error;
      return fallback();
    }
  }

  /**
   * Exchanges versions with Redis. Each side adopts newer versions from the other side. With `detectsProcess`, which
   * takes more time in Redis, a new generation of counts and bans begins if another server process has the data.
   */
  async exchangeVersions(
    versions: SharedVersions,
    run: RunScript = (...command) => this.link.run(...command),
    detectsProcess = this.link.detectsProcess,
  ): Promise<Versions> {
    const { postgres } = versions;
    const { keys } = this;
    const minVersions = resources.map((resource) => postgres[resource]);
    const args = [detectsProcess ? 1 : 0, ...minVersions];
    const [generation, ...reported] = (await run('versions', [keys.process, ...keys.versions], args)) as [
      string,
      ...number[],
    ];
    keys.generation = generation;
    return versions.applyRedis(this, parseVersions(reported));
  }

  /** Announces a change. `version` is the change's version in PostgreSQL, or 0 if unknown. */
  async announce(what: Resource, version: number): Promise<void> {
    await this.link.run('announce', [this.keys.version(what)], [version]);
  }

  /**
   * Rejects if scripts cannot access all keys of the shard, including the list of unsaved bans, which usually does not
   * exist.
   */
  async probe(versions: SharedVersions): Promise<void> {
    await this.exchangeVersions(versions);
    await this.unsavedBans();
  }

  /** Bans that PostgreSQL may lack. */
  async unsavedBans(): Promise<AccountBan[]> {
    const { keys, clock, link } = this;
    return parseBans(await link.run('unsaved', [keys.unsavedBans, keys.clock], clock.arguments()));
  }
}
