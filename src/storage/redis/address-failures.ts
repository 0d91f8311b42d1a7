import { peek, type WindowState } from '../../domain/limit.ts';
import { type FailureVerdict, StorageUnavailable } from '../storage.ts';
import type { RedisContext } from './context.ts';

/** Failed authentications, counted against their addresses. */
export class AddressFailures {
  readonly #context: RedisContext;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  fail(address: string): Promise<FailureVerdict> {
    return this.#context.link.shared(
      async () => (await this.#ask(address, 1)) as FailureVerdict,
      async () => this.#fallback(address),
    );
  }

  /** Undefined if callers have changed: nothing is counted. `isFresh` decides while Redis is down. */
  failUnder(
    address: string,
    callersVersion: number | undefined,
    isFresh: () => boolean,
  ): Promise<FailureVerdict | undefined> {
    return this.#context.link.shared(
      async () => (callersVersion === undefined ? undefined : this.#ask(address, 1, callersVersion)),
      async () => (isFresh() ? this.#fallback(address) : undefined),
    );
  }

  /** What is left, without counting. Never refused itself: it goes into responses that are refused for another reason. */
  async peek(address: string): Promise<WindowState> {
    const { link, localLimits, clock } = this.#context;
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
    const { localLimits, clock } = this.#context;
    return localLimits.fail(address, clock.now());
  }

  async #ask(
    address: string,
    count: 0 | 1,
    callersVersion: number | 'any' = 'any',
  ): Promise<FailureVerdict | undefined> {
    const { link, keys, localLimits, clock, rules } = this.#context;
    const limit = rules.failuresPerMinute;
    const names = [keys.failures(address), keys.clock, keys.callers];
    const answer = await link.ask('fail', names, [limit, count, callersVersion, ...clock.arguments()]);
    if (!Array.isArray(answer)) return undefined;
    const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = answer as number[];
    const window = { openedAt, count: counted };
    localLimits.learnAddress(address, window);
    return { state: peek(window, limit, nowMs), refused: refused === 1 };
  }
}
