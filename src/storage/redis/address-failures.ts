import { peek, type WindowState } from '../../domain/limit.ts';
import { type FailureVerdict, StorageUnavailable } from '../storage.ts';
import type { RedisClock } from './clock.ts';
import type { RedisKeys } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { LocalLimits } from './local-limits.ts';

export interface AddressFailuresOptions {
  readonly link: RedisLink;
  readonly keys: RedisKeys;
  readonly localLimits: LocalLimits;
  readonly clock: RedisClock;
  /** Failures per minute. */
  readonly limit: number;
}

/** Failed authentications, counted against their addresses. */
export class AddressFailures {
  readonly #options: AddressFailuresOptions;

  constructor(options: AddressFailuresOptions) {
    this.#options = options;
  }

  /** Counts one. */
  fail(address: string): Promise<FailureVerdict> {
    return this.#options.link.shared(
      async () => (await this.#ask(address, 1)) as FailureVerdict,
      async () => this.#fallback(address),
    );
  }

  /**
   * Counts one unless callers changed: `callersVersion` is Redis', undefined when it is known to be another, and
   * `isFresh` says whether it may be relied on when Redis does not tell. Undefined when nothing was counted.
   */
  failUnder(
    address: string,
    callersVersion: number | undefined,
    isFresh: () => boolean,
  ): Promise<FailureVerdict | undefined> {
    return this.#options.link.shared(
      async () => (callersVersion === undefined ? undefined : this.#ask(address, 1, callersVersion)),
      async () => (isFresh() ? this.#fallback(address) : undefined),
    );
  }

  /** What is left, without counting: told to who is refused for other reasons, so it is never refused itself. */
  async peek(address: string): Promise<WindowState> {
    const { link, localLimits, clock } = this.#options;
    const known = () => localLimits.peek(address, clock.now());
    if (link.trouble !== undefined || link.isBusy) return known();
    try {
      return ((await this.#ask(address, 0)) as FailureVerdict).state;
    } catch (error) {
      if (error instanceof StorageUnavailable) return known();
      throw error;
    }
  }

  #fallback(address: string): FailureVerdict {
    const { localLimits, clock } = this.#options;
    return localLimits.fail(address, clock.now());
  }

  /** Undefined when callers have another version than the one asked for. */
  async #ask(
    address: string,
    count: 0 | 1,
    callersVersion: number | 'any' = 'any',
  ): Promise<FailureVerdict | undefined> {
    const { link, keys, localLimits, clock, limit } = this.#options;
    const names = [keys.failures(address), keys.clock, keys.callers];
    const answer = await link.ask('fail', names, [limit, count, callersVersion, ...clock.arguments()]);
    if (!Array.isArray(answer)) return undefined;
    const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = answer as number[];
    const window = { openedAt, count: counted };
    localLimits.learnAddress(address, window);
    return { state: peek(window, limit, nowMs), refused: refused === 1 };
  }
}
