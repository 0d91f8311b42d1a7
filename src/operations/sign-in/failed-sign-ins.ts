import { LRUCache } from 'lru-cache';
import { type Clock, minuteMs } from '../../domain/clock.ts';

/** Number of failures per network and window after which further sign-ins get 429. */
const maxFailures = 10;
/** Maximum number of networks. If exceeded, the networks with the oldest failures are dropped. */
const maxNetworks = 10_000;

interface Failures {
  readonly endsAt: number;
  count: number;
}

/** Counts failed sign-ins per network, in one-minute windows that begin with the first failure. */
export class FailedSignIns {
  readonly #clock: Clock;
  readonly #byNetwork = new LRUCache<string, Failures>({ max: maxNetworks });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds until the network may try again; 0 if it may try now. */
  waitSeconds(network: string): number {
    const failures = this.#current(network);
    if (failures === undefined || failures.count < maxFailures) return 0;
    return Math.max(1, Math.ceil((failures.endsAt - this.#clock.steady()) / 1_000));
  }

  add(network: string): number {
    const failures = this.#current(network) ?? { endsAt: this.#clock.steady() + minuteMs, count: 0 };
    this.#byNetwork.set(network, failures);
    return ++failures.count;
  }

  #current(network: string): Failures | undefined {
    const failures = this.#byNetwork.get(network);
    return failures !== undefined && this.#clock.steady() < failures.endsAt ? failures : undefined;
  }
}
