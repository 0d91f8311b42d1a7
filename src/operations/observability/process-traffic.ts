import type { Awaitable } from '../../domain/awaitable.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import type { EventLoopTimes, Traffic, TrafficSource } from './traffic.ts';
import type { TrafficCounter } from './traffic-counter.ts';

/** Interval of the samples. A shorter pause is seen only by chance. */
const lookEveryMs = 500;
const keptLooks = 120;

/** Measures the event loop's delay by a timer, which costs two wake-ups a second. */
export class EventLoopDelay implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #last = new Float64Array(keptLooks);
  #looks = 0;
  #sumSeconds = 0;
  #dueAt = performance.now() + lookEveryMs;

  constructor() {
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#timer.unref();
  }

  times(): EventLoopTimes {
    return { maxSeconds: Math.max(...this.#last), sumSeconds: this.#sumSeconds, looks: this.#looks };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const lateSeconds = Math.max(0, now - this.#dueAt) / 1_000;
    this.#last[this.#looks % keptLooks] = lateSeconds;
    this.#looks++;
    this.#sumSeconds += lateSeconds;
    this.#dueAt = now + lookEveryMs;
  }
}

/** The store's facts may come from a server, so they are cached this long. */
const factsHeldMs = 5_000;

interface ProcessTrafficParts {
  readonly counter: TrafficCounter;
  readonly eventLoop: EventLoopDelay;
  readonly pageCache: { readonly hits: number; readonly misses: number };
  readonly facts: () => Awaitable<StoreFacts>;
  readonly inFlight: () => number;
  readonly openStreams: () => number;
  readonly eventListeners: () => number;
  /** Unix ms. */
  readonly startedAt: number;
}

export class ProcessTraffic implements TrafficSource {
  readonly #parts: ProcessTrafficParts;
  #held: { readonly until: number; readonly facts: StoreFacts } | undefined;

  constructor(parts: ProcessTrafficParts) {
    this.#parts = parts;
  }

  async traffic(): Promise<readonly Traffic[]> {
    const { counter, eventLoop, pageCache, inFlight, openStreams, eventListeners, startedAt } = this.#parts;
    const { hits, misses } = pageCache;
    return [
      {
        ...counter.traffic(),
        startedAt,
        inFlight: inFlight(),
        openStreams: openStreams(),
        eventListeners: eventListeners(),
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
