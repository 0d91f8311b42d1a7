import type { Clock } from '../../domain/clock.ts';
import { ClientRateLimiter } from '../listener/unmetered-responses.ts';

/** A response counts once for each part of this size. */
const partBytes = 64 * 1024;

/**
 * Limits the responses outside /v1 per minute and client network, in proportion to their size. Hundreds of connections
 * whose clients never read a large response would fill gigabytes of the system's send buffers, and the requests of others
 * would wait for seconds. There is no limit for all networks together, because a few could use it up.
 */
export class PageLimiter {
  readonly #limiter: ClientRateLimiter;
  /** Sizes in bytes, by path and content coding. They change only with the service's version and settings. */
  readonly #sizes = new Map<string, number>();

  constructor(perMinute: number, clock: Clock) {
    this.#limiter = new ClientRateLimiter(perMinute, clock);
  }

  /** Counts a response. `path` is undefined for an error. Returns 0 within the limit, or else the seconds to wait. */
  async take(network: string, path: string | undefined, response: Response): Promise<number> {
    const bytes = path === undefined ? 0 : await this.#sizeOf(path, response);
    return this.#limiter.take(network, Math.max(1, Math.ceil(bytes / partBytes)));
  }

  delay(milliseconds: number): Promise<boolean> {
    return this.#limiter.delay(milliseconds);
  }

  async #sizeOf(path: string, response: Response): Promise<number> {
    const name = `${path} ${response.headers.get('Content-Encoding')}`;
    const known = this.#sizes.get(name);
    if (known !== undefined) return known;
    const { size } = await response.clone().blob();
    this.#sizes.set(name, size);
    return size;
  }
}
