import { peek, type WindowState } from '../../domain/limit.ts';
import type { FailureVerdict } from '../storage.ts';
import type { RedisKeys } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Mirror } from './mirror.ts';

export interface AddressFailuresOptions {
  readonly link: RedisLink;
  readonly keys: RedisKeys;
  readonly mirror: Mirror;
  /** Failures per minute. */
  readonly limit: number;
  /** Redis' time as far as it is known here. */
  readonly now: () => number;
  /** The time scripts are given, if any. */
  readonly givenNow: () => number[];
}

/** Failed authentications, counted against their addresses. */
export class AddressFailures {
  readonly #options: AddressFailuresOptions;

  constructor(options: AddressFailuresOptions) {
    this.#options = options;
  }

  /** Counts one. */
  fail(address: string): Promise<FailureVerdict> {
    const { link, mirror, now } = this.#options;
    return link.shared(
      () => this.#ask(address, 1),
      async () => mirror.fail(address, now()),
    );
  }

  /** What is left, without counting: told to who is refused for other reasons, so it is never refused itself. */
  async peek(address: string): Promise<WindowState> {
    const { link, mirror, now } = this.#options;
    const known = () => mirror.peek(address, now());
    if (link.isBusy) return known();
    return link.shared(
      async () => (await this.#ask(address, 0)).state,
      async () => known(),
    );
  }

  async #ask(address: string, count: 0 | 1): Promise<FailureVerdict> {
    const { link, keys, mirror, limit, givenNow } = this.#options;
    const answer = await link.ask('fail', [keys.failures(address)], [limit, count, ...givenNow()]);
    const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = answer as number[];
    const window = { openedAt, count: counted };
    mirror.learnAddress(address, window);
    return { state: peek(window, limit, nowMs), refused: refused === 1 };
  }
}
