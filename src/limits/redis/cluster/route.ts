import { setTimeout as sleep } from 'node:timers/promises';
import { CircuitBreaker } from '../../../outages/circuit-breaker.ts';
import { StorageUnavailable } from '../../../outages/errors.ts';
import type { Notify } from '../../../outages/outage.ts';
import type { RedisLink, RunScript } from '../link.ts';
import type { ShardLink } from '../shard.ts';
import { Redirection } from './redirection.ts';

/** The nodes of a cluster, for routing commands to them. */
export interface Nodes {
  /** Returns the link to the node that owns a slot; undefined if no node owns it. */
  ownerOf(slot: number): RedisLink | undefined;
  /** Returns the link to the node at an address. */
  at(address: string): RedisLink;
  /** Records that a slot has moved to the node at an address. */
  moved(slot: number, address: string): void;
  refresh(): Promise<void>;
}

interface RouteOptions {
  readonly nodes: Nodes;
  readonly slot: number;
  readonly notice: Notify;
  /** Rejects if scripts cannot access all keys of the shard. */
  readonly probe: () => Promise<unknown>;
}

/**
 * Maximum time that commands wait while a slot is being moved. After that, the shard is considered down until the move
 * is complete.
 */
const maxMoveMs = 1_000;
const pauseMs = 20;
const probeEveryMs = 250;

/** Routes the commands of a shard to the node that owns its slot. */
export class ShardRoute implements ShardLink, Disposable {
  readonly detectsProcess = false;
  readonly #nodes: Nodes;
  readonly #slot: number;
  readonly #breaker: CircuitBreaker;
  #pause: Promise<void> | undefined;

  constructor({ nodes, slot, notice, probe }: RouteOptions) {
    this.#nodes = nodes;
    this.#slot = slot;
    this.#breaker = new CircuitBreaker({
      name: `Redis Cluster slot ${slot}`,
      probe: async () => {
        await nodes.refresh();
        await this.#owner().open();
        await probe();
      },
      probeEveryMs,
      notice,
    });
  }

  get trouble(): string | undefined {
    return this.#breaker.trouble ?? this.#nodes.ownerOf(this.#slot)?.trouble;
  }

  get isBusy(): boolean {
    return this.#nodes.ownerOf(this.#slot)?.isBusy ?? false;
  }

  async ask(...command: Parameters<RunScript>): Promise<unknown> {
    return this.#owner().limited(() => this.run(...command));
  }

  async run(...command: Parameters<RunScript>): Promise<unknown> {
    try {
      return await this.#owner().run(...command);
    } catch (error) {
      if (error instanceof Redirection) return this.#follow(error, command);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#breaker[Symbol.dispose]();
  }

  #owner(): RedisLink {
    const owner = this.#nodes.ownerOf(this.#slot);
    if (owner === undefined) throw this.#unavailable('no node of the cluster owns the slot');
    return owner;
  }

  async #follow(first: Redirection, [script, keys, args]: Parameters<RunScript>): Promise<unknown> {
    const waitUntil = performance.now() + maxMoveMs;
    let redirection = first;
    for (let tries = 0; performance.now() < waitUntil; tries++) {
      const { kind, address } = redirection;
      // While two nodes disagree about the owner of a slot, they redirect commands to each other.
      if (kind === 'again' || tries > 1) await this.#paused();
      if (kind === 'moved') this.#nodes.moved(this.#slot, address);
      const isAsking = kind === 'ask';
      try {
        return await (isAsking ? this.#nodes.at(address) : this.#owner()).run(script, keys, args, isAsking);
      } catch (error) {
        if (!(error instanceof Redirection)) throw error;
        redirection = error;
      }
    }
    throw this.#unavailable(redirection.reason);
  }

  #unavailable(reason: string): StorageUnavailable {
    this.#breaker.trip(reason);
    return new StorageUnavailable(`Redis Cluster slot ${this.#slot}: ${reason}`);
  }

  /** Commands waiting at the same time are retried together, in their original order. */
  #paused(): Promise<void> {
    this.#pause ??= sleep(pauseMs).then(() => {
      this.#pause = undefined;
    });
    return this.#pause;
  }
}
