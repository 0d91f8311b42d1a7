import type { Awaitable } from '../../domain/awaitable.ts';
import { runAtMultiples } from '../../domain/run-at-multiples.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import { shareReading } from './share-reading.ts';
import type { EventLoopTimes, OutputHealth, TrafficSource } from './traffic.ts';
import type { TrafficCounter } from './traffic-counter.ts';

/** Sampling interval. Shorter delays may be missed. */
const sampleIntervalMs = 1_000;
const retainedSamples = 60;

/** Measures the event-loop delay with a timer, at the cost of one wake-up per second. */
export class EventLoopDelay implements Disposable {
  readonly #timer: Disposable;
  readonly #last = new Float64Array(retainedSamples);
  #samples = 0;
  #sumSeconds = 0;

  constructor() {
    this.#timer = runAtMultiples(sampleIntervalMs, (dueAt) => this.#sample(dueAt));
  }

  times(): EventLoopTimes {
    return { maxSeconds: Math.max(...this.#last), sumSeconds: this.#sumSeconds, looks: this.#samples };
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #sample(dueAt: number): void {
    const now = performance.now();
    const lateSeconds = Math.max(0, now - dueAt) / 1_000;
    this.#last[this.#samples % retainedSamples] = lateSeconds;
    this.#samples++;
    this.#sumSeconds += lateSeconds;
  }
}

/** Store facts are cached, because reading them may require requests to a server. */
const factsCacheMs = 5_000;

interface ProcessTrafficOptions {
  readonly counter: TrafficCounter;
  readonly eventLoop: EventLoopDelay;
  readonly pageCache: { readonly hits: number; readonly misses: number };
  readonly facts: () => Awaitable<StoreFacts>;
  readonly troubles: () => readonly string[];
  readonly inFlight: () => number;
  readonly openStreams: () => number;
  readonly eventListeners: () => number;
  readonly output: OutputHealth | undefined;
  /** Unix ms. */
  readonly startedAt: number;
}

/** The traffic of this process. */
export function createTrafficSource(dependencies: ProcessTrafficOptions): TrafficSource {
  const { counter, eventLoop, pageCache, inFlight, openStreams, eventListeners, output, startedAt } =
    dependencies;
  const facts = shareReading(factsCacheMs, () => performance.now(), dependencies.facts);
  return {
    traffic: async () => [
      {
        ...counter.traffic(),
        startedAt,
        inFlight: inFlight(),
        openStreams: openStreams(),
        eventListeners: eventListeners(),
        pageCache: { hits: pageCache.hits, misses: pageCache.misses },
        eventLoop: eventLoop.times(),
        memoryBytes: process.memoryUsage.rss(),
        output: { linesLost: output?.linesLost ?? 0, trouble: output?.trouble },
        troubles: dependencies.troubles(),
        store: await facts(),
      },
    ],
  };
}
