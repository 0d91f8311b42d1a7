import type { Clock } from '../../domain/clock.ts';
import type { RedisUrls } from '../../domain/redis-urls.ts';
import type { SharedVersions } from '../../domain/shared-versions.ts';
import type { Notify } from '../../outages/outage.ts';
import { RoundTripStatistics } from '../../outages/round-trip-statistics.ts';
import { RedisNodes } from './cluster/nodes.ts';
import { parseRedirection } from './cluster/redirection.ts';
import { ShardRoute } from './cluster/route.ts';
import { parseSlotMap } from './cluster/slot-map.ts';
import { crc16, createShardTags, hashSlot } from './cluster/slots.ts';
import { RedisKeys } from './keys.ts';
import { type Connection, type LinkOptions, RedisLink } from './link.ts';
import { Shard } from './shard.ts';

interface ServersOptions extends Pick<LinkOptions, 'timeoutMs' | 'scripts' | 'notice'> {
  readonly urls: RedisUrls;
  readonly prefix: string;
  readonly clock: Clock;
  readonly versions: SharedVersions;
  readonly expectShared: RedisServers['expectShared'];
  /** Called when a server recovers or is replaced. */
  readonly onRecovery: () => void;
}

/** Number of shards that an idle instance polls at a time. */
const maxParallelShards = 6;

/**
 * Connections to Redis, which is either a single server with one shard or a cluster with many shards. The kind is
 * detected when connecting.
 */
export class RedisServers implements AsyncDisposable {
  readonly #options: ServersOptions;
  readonly roundTrips = new RoundTripStatistics();
  /** Throws if other instances use a different Redis, so that requests must not be counted. */
  readonly expectShared: () => void;
  readonly #opened = new AsyncDisposableStack();
  /** The single server, or the cluster node that reports the other nodes. */
  readonly #first: RedisLink;
  #nodes: RedisNodes | undefined;
  #shards: readonly Shard[];
  #turns = 0;
  /** Hosts with an eviction policy, which is reported once. */
  readonly #evicting = new Set<string>();

  constructor(options: ServersOptions) {
    this.#options = options;
    const { urls, prefix, clock } = options;
    this.expectShared = options.expectShared;
    this.#first = this.#makeLink({ name: 'Redis', urls, isNode: false }, (connection) =>
      this.#connected(connection),
    );
    this.#opened.use(this.#first);
    this.#shards = [new Shard(this.#first, new RedisKeys(prefix), clock)];
  }

  /** Connects. Resolves even if the first attempt fails. Later attempts continue in the background. */
  async open(): Promise<void> {
    await this.#first.open();
    await this.#openNodes();
  }

  get shards(): readonly Shard[] {
    return this.#shards;
  }

  /** Returns the next available shard, in rotation. Every shard has all versions. */
  anyAvailable(): Shard | undefined {
    const from = ++this.#turns % this.#shards.length;
    const inTurn = [...this.#shards.slice(from), ...this.#shards.slice(0, from)];
    return inTurn.find(({ link }) => link.trouble === undefined);
  }

  /** Returns a subset of the available shards to poll. An idle instance polls each shard once a second. */
  inTurn(turn: number): readonly Shard[] {
    const turns = Math.ceil(this.#shards.length / maxParallelShards);
    return this.#shards.filter(
      ({ link }, index) => index % turns === turn % turns && link.trouble === undefined,
    );
  }

  /** The earliest time on the clocks of all shards, in Unix seconds. */
  get earliestSecond(): number {
    return Math.floor(Math.min(...this.#shards.map(({ clock }) => clock.now())) / 1_000);
  }

  /** Reason why a shard is down; undefined if all shards are up. */
  get trouble(): string | undefined {
    return this.#shards.map(({ link }) => link.trouble).find((trouble) => trouble !== undefined);
  }

  shardFor(accountId: number): Shard {
    return this.#shards[accountId % this.#shards.length] as Shard;
  }

  shardForAddress(address: string): Shard {
    const { length } = this.#shards;
    return this.#shards[length === 1 ? 0 : crc16(address) % length] as Shard;
  }

  /** Reads the identity of the server or cluster. If it has none, it adopts the proposed one. Rejects if it is down. */
  async identity(proposed: string): Promise<string> {
    const { link, keys } = this.#shards[0] as Shard;
    return String(await link.run('server', [keys.server], [proposed]));
  }

  get version(): string | undefined {
    const links = this.#nodes?.links ?? [this.#first];
    return links.find((link) => link.trouble === undefined)?.version;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }

  #makeLink(
    options: Pick<LinkOptions, 'name' | 'urls' | 'isNode'>,
    onConnect: LinkOptions['onConnect'],
  ): RedisLink {
    const { timeoutMs, scripts } = this.#options;
    const { roundTrips } = this;
    return new RedisLink({ ...options, onConnect, timeoutMs, scripts, roundTrips, notice: this.#notice });
  }

  readonly #notice: Notify = (text, outage) => {
    this.#options.notice(text, outage);
    if (outage?.works === true) void this.#openNodes().then(this.#options.onRecovery);
  };

  async #openNodes(): Promise<void> {
    if (this.#nodes === undefined) return;
    this.#first.retire('available again');
    await this.#nodes.open();
  }

  /**
   * Warns if the server evicts keys when its memory is full, because evicted counts and bans start over. Without
   * permission for INFO, the policy is unknown.
   */
  #checkEviction({ info, url }: Connection): void {
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
    if (policy === 'noeviction' || /^maxmemory:0\s/m.test(info)) return;
    const { host } = new URL(url);
    if (this.#evicting.has(host)) return;
    this.#evicting.add(host);
    this.#options.notice(
      `Redis ${host} evicts keys when its memory is full (maxmemory-policy ${policy}), which resets limits and bans. Set ` +
        'maxmemory-policy noeviction.',
    );
  }

  async #connected(connection: Connection): Promise<void> {
    this.#checkEviction(connection);
    const { client, run, url, info } = connection;
    if (this.#nodes !== undefined) return;
    const { urls, versions } = this.#options;
    // Without permission for INFO, Redis is treated as a single server.
    if (/^cluster_enabled:1/m.test(info)) {
      this.#divide(await client.send('CLUSTER', ['SLOTS']), url);
    } else if (urls.length > 1) {
      throw new Error('REDIS_URL has several hosts, but this host is not in cluster mode');
    } else {
      await this.#shards[0]?.exchangeVersions(versions, run);
    }
  }

  /** Divides the accounts among the shards of a cluster. */
  #divide(reply: unknown, url: string): void {
    const { urls, prefix, clock, onRecovery, versions } = this.#options;
    const keys = createShardTags().map((tag) => new RedisKeys(`${prefix}{${tag}}:`));
    const slots = keys.map(({ callers }) => hashSlot(callers));
    const makeLink = (address: string, nodeUrl: string) => {
      const names = { name: `Redis node ${address}`, urls: [nodeUrl], isNode: true };
      return this.#makeLink(names, (connection) => this.#joined(address, slots, connection));
    };
    const nodes = new RedisNodes({ urls, slots, makeLink, onRecovery }, parseSlotMap(reply, url));
    this.#nodes = this.#opened.use(nodes);
    this.#shards = keys.map((ofShard, index) => {
      const route: ShardRoute = new ShardRoute({
        nodes,
        slot: slots[index] as number,
        notice: this.#notice,
        probe: () => shard.probe(versions),
      });
      const shard = new Shard(this.#opened.use(route), ofShard, clock);
      return shard;
    });
  }

  /** Exchanges versions with a node's shards, except for shards that have moved to another node. */
  async #joined(address: string, slots: readonly number[], connection: Connection): Promise<void> {
    this.#checkEviction(connection);
    const { run, url } = connection;
    const exchanges = this.#shards.map(async (shard, index) => {
      if (this.#nodes?.isAt(slots[index] as number, address) !== true) return;
      await shard.exchangeVersions(this.#options.versions, run).catch((error) => {
        if (parseRedirection(error, url) === undefined) throw error;
      });
    });
    await Promise.all(exchanges);
  }
}
