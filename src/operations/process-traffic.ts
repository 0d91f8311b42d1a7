import type { Awaitable } from '../domain/awaitable.ts';
import type { StoreFacts } from '../storage/admin.ts';
import type { EventLoopDelay } from './event-loop.ts';
import type { Traffic, TrafficSource } from './traffic.ts';
import type { TrafficCounter } from './traffic-counter.ts';

/** How long the facts of the store are told again: a server is asked for them. */
const factsHeldMs = 5_000;

export interface ProcessTrafficParts {
  readonly counter: TrafficCounter;
  readonly eventLoop: EventLoopDelay;
  readonly pageCache: { readonly hits: number; readonly misses: number };
  readonly facts: () => Awaitable<StoreFacts>;
  /** Requests that are not answered yet. */
  readonly inFlight: () => number;
  /** Unix ms. */
  readonly startedAt: number;
}

/** What this process answered. */
export class ProcessTraffic implements TrafficSource {
  readonly #parts: ProcessTrafficParts;
  #held: { readonly until: number; readonly facts: StoreFacts } | undefined;

  constructor(parts: ProcessTrafficParts) {
    this.#parts = parts;
  }

  async traffic(): Promise<readonly Traffic[]> {
    const { counter, eventLoop, pageCache, inFlight, startedAt } = this.#parts;
    const { hits, misses } = pageCache;
    return [
      {
        ...counter.traffic(),
        startedAt,
        inFlight: inFlight(),
        pageCache: { hits, misses },
        eventLoop: eventLoop.times(),
        memoryBytes: process.memoryUsage.rss(),
        store: await this.#facts(),
      },
    ];
  }

  async #facts(): Promise<StoreFacts> {
    const now = performance.now();
    if (this.#held !== undefined && now < this.#held.until) return this.#held.facts;
    const facts = await this.#parts.facts();
    this.#held = { until: now + factsHeldMs, facts };
    return facts;
  }
}
