import type { RedisUrls } from '../../../domain/redis-urls.ts';
import { PeriodicTask } from '../../../outages/periodic-task.ts';
import { connectTimeoutMs, type RedisLink } from '../link.ts';
import type { Nodes } from './route.ts';
import { nodeUrl, readSlotMap, type SlotMap } from './slot-map.ts';

interface NodesOptions {
  /** URLs of the initial nodes, with the credentials for all nodes. */
  readonly urls: RedisUrls;
  /** The slots of the shards. */
  readonly slots: readonly number[];
  readonly makeLink: (address: string, url: string) => RedisLink;
  /** Called when slots have moved from a failed node to another node. */
  readonly onRecovery: () => void;
}

const checkIntervalMs = 250;

/** Keeps a link to each primary of a Redis Cluster, and tracks the slots of each node. */
export class RedisNodes implements Nodes, AsyncDisposable {
  readonly #options: NodesOptions;
  readonly #links = new Map<string, RedisLink>();
  /** Addresses of the nodes that own the slots of the shards, by slot. */
  readonly #owners = new Map<number, string | undefined>();
  #checking: PeriodicTask | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: NodesOptions, map: SlotMap) {
    this.#options = options;
    this.#adopt(map);
  }

  /**
   * Resolves when each node is connected, or the first attempt to connect to it has failed. Later attempts continue in
   * the background.
   */
  async open(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.open()));
    this.#checking ??= new PeriodicTask(checkIntervalMs, () => this.#check());
  }

  get links(): readonly RedisLink[] {
    return [...this.#links.values()];
  }

  ownerOf(slot: number): RedisLink | undefined {
    return this.#links.get(this.#owners.get(slot) ?? '');
  }

  isAt(slot: number, address: string): boolean {
    return this.#owners.get(slot) === address;
  }

  at(address: string): RedisLink {
    let link = this.#links.get(address);
    if (link === undefined) {
      const { makeLink, urls } = this.#options;
      link = makeLink(address, nodeUrl(address, urls[0]));
      this.#links.set(address, link);
      void link.open();
    }
    return link;
  }

  moved(slot: number, address: string): void {
    if (this.isAt(slot, address)) return;
    this.#owners.set(slot, address);
    this.at(address);
    void this.refresh();
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#checking?.[Symbol.asyncDispose]();
    await this.#refreshing;
    for (const link of this.#links.values()) link[Symbol.dispose]();
  }

  /** Reads the slot map from the first node that responds. Working nodes are tried first. */
  async #read(): Promise<void> {
    const { urls } = this.#options;
    const known = [...this.#links].toSorted(
      ([, one], [, other]) => Number(one.trouble !== undefined) - Number(other.trouble !== undefined),
    );
    for (const url of [...known.map(([address]) => nodeUrl(address, urls[0])), ...urls]) {
      const map = await readSlotMap(url, connectTimeoutMs).catch(() => undefined);
      if (map !== undefined) return this.#adopt(map);
    }
  }

  #adopt(map: SlotMap): void {
    for (const slot of this.#options.slots) {
      const address = map(slot);
      if (this.isAt(slot, address ?? '')) continue;
      const before = this.ownerOf(slot);
      this.#owners.set(slot, address);
      if (address === undefined) continue;
      const opened = this.at(address).open();
      if (before?.trouble !== undefined) void opened.then(this.#options.onRecovery);
    }
  }

  async #check(): Promise<void> {
    if (this.links.some((link) => link.trouble !== undefined)) await this.refresh();
    const owners = new Set(this.#owners.values());
    for (const [address, link] of this.#links) {
      if (owners.has(address) || !(link.isIdle || link.trouble !== undefined)) continue;
      this.#links.delete(address);
      link.retire('no longer owns any slots in the cluster');
    }
  }
}
