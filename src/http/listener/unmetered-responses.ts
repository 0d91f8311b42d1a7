import { LRUCache } from 'lru-cache';
import type { Clock } from '../../domain/clock.ts';
import { longTickMs } from './accept-pauses.ts';

const windowMs = 60_000;
/** Maximum number of clients to track. Beyond this number, the least recently seen clients are forgotten. */
const maxClients = 10_000;
const defaultMaxDelayed = 1_000;

/**
 * Tracks the number of responses per minute that do not count against a plan's limits, by address or connection. The
 * numbers are kept only in memory.
 */
export class ClientRateLimiter {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #maxDelayed: number;
  readonly #windows = new LRUCache<string, { readonly endsAt: number; count: number }>({
    max: maxClients,
  });
  #delayed = 0;

  /** `maxDelayed` is the maximum number of delayed responses. Beyond this number, responses are sent immediately. */
  constructor(perMinute: number, clock: Clock, maxDelayed = defaultMaxDelayed) {
    this.#perMinute = perMinute;
    this.#clock = clock;
    this.#maxDelayed = maxDelayed;
  }

  /**
   * Counts a response, `times` times if it is large. Returns 0 within the budget, or else the seconds (at least 1) until the
   * window ends.
   */
  take(client: string, times = 1): number {
    const now = this.#clock.steady();
    let window = this.#windows.get(client);
    if (window === undefined || window.endsAt <= now) {
      window = { endsAt: now + windowMs, count: 0 };
      this.#windows.set(client, window);
    }
    if (window.count >= this.#perMinute) return Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
    window.count += times;
    return 0;
  }

  /** Whether no more responses can be delayed. */
  get isFull(): boolean {
    return this.#delayed >= this.#maxDelayed;
  }

  /**
   * Delays a response, to slow down a client that retries immediately. Returns false without a delay if too many
   * responses are already delayed.
   */
  async delay(milliseconds: number): Promise<boolean> {
    if (this.isFull) return false;
    this.#delayed++;
    await Bun.sleep(milliseconds);
    this.#delayed--;
    return true;
  }
}

/**
 * Maximum number of responses that do not count against a limit, per connection and minute. The next such response
 * closes the connection, because thousands of pipelined requests would delay other clients.
 */
export const maxUnmeteredPerMinute = 30;

/**
 * The responses of a listener that do not count against a limit. In one event-loop tick, the runtime accepts
 * connections and serves their first requests until no more connections arrive. Clients that reconnect as soon as they
 * are served could prolong the tick indefinitely, while other connections, timers and writes wait. In a long tick, each
 * connection therefore gets only one such response.
 */
export class UnmeteredResponses {
  readonly #budget: ClientRateLimiter;
  /** Time at which the current tick becomes long; undefined before its first response. */
  #longAt: number | undefined;

  constructor(clock: Clock) {
    this.#budget = new ClientRateLimiter(maxUnmeteredPerMinute, clock);
  }

  /** Counts a response. Returns whether to close the connection after it. */
  isLast(request: Request, server: Pick<Bun.Server<undefined>, 'requestIP'>): boolean {
    if (this.#isLongTurn()) return true;
    const peer = server.requestIP(request);
    return this.#budget.take(`${peer?.address} ${peer?.port}`) > 0;
  }

  #isLongTurn(): boolean {
    const now = performance.now();
    if (this.#longAt !== undefined) return now > this.#longAt;
    this.#longAt = now + longTickMs;
    setImmediate(() => {
      this.#longAt = undefined;
    });
    return false;
  }
}
