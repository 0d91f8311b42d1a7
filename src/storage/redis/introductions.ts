import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import { type Conduct, unused } from '../../domain/limit.ts';
import { type Ban, type Caller, StorageUnavailable } from '../storage.ts';
import type { RedisKeys } from './keys.ts';
import { NoAnswer, type Run } from './link.ts';
import type { AccountBan, Memory, Remembered } from './memory.ts';
import type { Held, Mirror, Untold } from './mirror.ts';

export interface IntroductionsOptions {
  readonly run: Run;
  readonly keys: RedisKeys;
  readonly mirror: Mirror;
  readonly memory: Memory;
  /** Names this process in Redis: 8 bytes. */
  readonly process: string;
  /** The next number of what Redis is asked to count. */
  readonly nextNumber: () => number;
  /** The time scripts are given. */
  readonly time: () => number[];
}

/** Keys, and bans that Redis has to be told of. */
const mostHeld = 100_000;
/** How long the mirror is believed on what the memory knows better. */
const recalledForMs = 1_000;

/** Accounts that Redis is told of at once. */
const tellingGroup = 500;
/** How often bans are read again that callers' changes overtook. */
const mostReadings = 4;
/** For bans that were not read, but decided here. */
const anyVersion = -1;

const nothing: Untold = { count: 0, doubts: [] };

/** Keeps Redis, the mirror and the memory in agreement: what one of them lost, the others give back. */
export class Introductions {
  readonly #options: IntroductionsOptions;
  readonly #introducing = new Map<number, Promise<void>>();
  readonly #recalling = new Map<number, Promise<void>>();
  /** When the memory was asked about each key. */
  readonly #recalledAt = new LRUCache<number, number>(atMost(mostHeld));
  readonly #untoldBans = new LRUCache<number, AccountBan>(atMost(mostHeld));

  constructor(options: IntroductionsOptions) {
    this.#options = options;
  }

  /**
   * Makes an account known to Redis that has no state of it: new, long idle, or lost. Rejects with
   * `StorageUnavailable` when the memory does not say what there was; then Redis still does not know the account, so
   * that nothing is forgotten and the next request asks again.
   */
  introduce(accountId: number): Promise<void> {
    return once(this.#introducing, accountId, () => this.#introduce(accountId));
  }

  /**
   * Makes the mirror know what the memory has of a caller, unless it did a moment ago: others may have banned its key,
   * or lifted its ban. Rejects with `StorageUnavailable` when the memory does not answer.
   */
  async recall(caller: Caller): Promise<void> {
    const recalledAt = this.#recalledAt.get(caller.keyId) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - recalledAt < recalledForMs) return;
    await once(this.#recalling, caller.keyId, () => this.#recall(caller));
  }

  /** Tells Redis what was counted here while it was away; false when it has no state of the account to add it to. */
  async tell(accountId: number): Promise<boolean> {
    const { mirror, nextNumber } = this.#options;
    const held = mirror.tell(accountId);
    if (held === undefined) return true;
    const number = nextNumber();
    try {
      if ((await this.#restore(accountId, held, number)) === 1) return true;
      mirror.untell(accountId, held, undefined);
      return false;
    } catch (error) {
      mirror.untell(accountId, held, error instanceof NoAnswer ? number : undefined);
      return true;
    }
  }

  async tellAll(): Promise<void> {
    await Promise.all([...this.#untoldBans.values()].map((ban) => this.#tellBan(ban)));
    const untold = this.#options.mirror.untold();
    while (untold.length > 0) {
      const group = untold.splice(0, tellingGroup).map(async (accountId) => {
        if (!(await this.tell(accountId))) await this.introduce(accountId);
      });
      // What could not be told now is told when the account is asked for again.
      await Promise.allSettled(group);
    }
  }

  /** Remembers a ban, also beyond Redis; one that Redis did not decide it is told of later. */
  saveBan(
    { keyId, accountId }: Caller,
    { bannedUntil, banLevel: level }: Omit<Conduct, 'strikes'>,
    decidedBy: 'redis' | 'alone',
  ): void {
    const ban = { keyId, accountId, bannedUntil, level };
    if (decidedBy === 'alone') this.#untoldBans.set(keyId, ban);
    this.#options.memory.saveBan(ban);
  }

  /** A ban that the memory no longer has was lifted meanwhile. */
  async #tellBan(ban: AccountBan): Promise<void> {
    const { accountId, keyId } = ban;
    this.#untoldBans.delete(keyId);
    try {
      const known = await this.#options.memory.find(accountId).catch(() => undefined);
      if (known?.bans.some((one) => one.keyId === keyId) === false) return;
      await this.#restoreBan(accountId, ban, anyVersion);
    } catch {
      this.#untoldBans.set(keyId, ban);
    }
  }

  async #introduce(accountId: number): Promise<void> {
    const { mirror } = this.#options;
    const { usage } = await this.#withBans(accountId);
    const remembered = { usage: usage ?? unused, minute: nothing, day: nothing };
    // Commands are done in order.
    await Promise.all([
      this.#restore(accountId, remembered, 0),
      mirror.knows(accountId) ? this.tell(accountId) : undefined,
    ]);
  }

  /** Gives Redis the bans of an account, before it knows the account and judges its requests. */
  async #withBans(accountId: number): Promise<Remembered> {
    const { memory, run, keys } = this.#options;
    for (let reading = 0; reading < mostReadings; reading++) {
      const [callers = 0] = (await run('versions', [keys.callers, keys.pets], [0, 0])) as number[];
      const remembered = await memory.find(accountId);
      const restored = remembered.bans.map((ban) => this.#restoreBan(accountId, ban, callers));
      if ((await Promise.all(restored)).every((answer) => answer === 1)) return remembered;
    }
    throw new StorageUnavailable('bans change faster than they can be read');
  }

  async #recall({ accountId, keyId }: Caller): Promise<void> {
    const { mirror, memory } = this.#options;
    const askedAt = performance.now();
    const { usage, bans } = await memory.find(accountId);
    const ban = bans.find((one) => one.keyId === keyId) ?? { bannedUntil: 0, level: 0 };
    mirror.recall(accountId, keyId, usage ?? unused, ban);
    this.#recalledAt.set(keyId, askedAt);
  }

  async #restore(accountId: number, { usage, minute, day }: Held, number: number): Promise<unknown> {
    const { run, keys, process, time } = this.#options;
    const windows = [
      [usage.minute.openedAt, usage.minute.count, minute.count, doubtsOf(minute)],
      [usage.day.openedAt, usage.day.count, day.count, doubtsOf(day)],
    ].flat();
    return run('restore', [keys.usage(accountId), keys.clock], [...windows, process, number, ...time()]);
  }

  async #restoreBan(
    accountId: number,
    { keyId, bannedUntil, level }: Ban,
    callers: number,
  ): Promise<unknown> {
    const { run, keys, time } = this.#options;
    return run(
      'restoreBan',
      [keys.conduct(accountId, keyId), keys.bans, keys.callers, keys.clock],
      [bannedUntil, level, `${keyId}:${accountId}`, callers, ...time()],
    );
  }
}

/** Runs work for this id once at a time; who asks meanwhile gets the same outcome. */
function once(running: Map<number, Promise<void>>, id: number, work: () => Promise<void>): Promise<void> {
  const already = running.get(id);
  if (already !== undefined) return already;
  const begun = work().finally(() => running.delete(id));
  running.set(id, begun);
  return begun;
}

function doubtsOf({ doubts }: Untold): string {
  return doubts.map(({ number, count }) => `${number}:${count}`).join(',');
}
