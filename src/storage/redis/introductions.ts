import { setTimeout as sleep } from 'node:timers/promises';
import type { Conduct, Usage } from '../../domain/limit.ts';
import type { Ban, Caller } from '../storage.ts';
import type { RedisKeys } from './keys.ts';
import type { Run } from './link.ts';
import type { Held, Mirror } from './mirror.ts';

/** What is kept of limits where it outlives Redis. */
export interface Memory {
  findUsage(accountId: number): Promise<Usage | undefined>;
  findBans(accountId: number): Promise<Ban[]>;
  saveUsage(snapshots: readonly { accountId: number; usage: Usage }[]): Promise<void>;
  saveBan(ban: Ban & { readonly accountId: number }): Promise<void>;
  deleteBan(keyId: number): Promise<void>;
}

export interface IntroductionsOptions {
  readonly run: Run;
  readonly keys: RedisKeys;
  readonly mirror: Mirror;
  readonly memory: Memory;
  /** How long a decision may wait for the memory. */
  readonly timeoutMs: number;
  /** The time scripts are given. */
  readonly time: () => number[];
}

const snapshotEveryMs = 10_000;
/** Accounts in one statement. */
const snapshotSize = 500;

/** Keeps Redis, the mirror and the memory in agreement: what one of them lost, the others give back. */
export class Introductions implements AsyncDisposable {
  readonly #options: IntroductionsOptions;
  readonly #running = new Map<number, Promise<void>>();
  readonly #untoldBans: (Ban & { readonly accountId: number })[] = [];
  #timer: NodeJS.Timeout | undefined;
  #saving = Promise.resolve();

  constructor(options: IntroductionsOptions) {
    this.#options = options;
  }

  /** Begins to save, every few seconds, what changed. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#saving = this.#saving.then(() => this.#save());
    }, snapshotEveryMs);
    this.#timer.unref();
  }

  /** Makes an account known to Redis that has no state of it: new, long idle, or lost. */
  introduce(accountId: number, keyId: number): Promise<void> {
    let running = this.#running.get(accountId);
    if (running === undefined) {
      running = this.#introduce(accountId, keyId).finally(() => this.#running.delete(accountId));
      this.#running.set(accountId, running);
    }
    return running;
  }

  /** Makes an account known to the mirror, as far as the memory answers in time. */
  async recall(accountId: number, keyId: number): Promise<void> {
    const { mirror } = this.#options;
    const { usage, bans = [] } = await this.#remembered(accountId);
    // Another request may have counted meanwhile.
    if (usage !== undefined && !mirror.knows(accountId)) mirror.learnUsage(accountId, usage);
    const ban = bans.find((one) => one.keyId === keyId);
    if (ban === undefined || mirror.conduct(keyId).bannedUntil >= ban.bannedUntil) return;
    const { bannedUntil, level: banLevel } = ban;
    mirror.learnConduct(keyId, { episodeFrom: 0, episodeUntil: 0, bannedUntil, banLevel });
  }

  /** Tells Redis what was counted here while it was away. */
  async tell(accountId: number): Promise<void> {
    const { mirror } = this.#options;
    const held = mirror.tell(accountId);
    if (held === undefined) return;
    try {
      await this.#restore(accountId, held);
    } catch {
      mirror.untell(accountId, held);
    }
  }

  async tellAll(): Promise<void> {
    for (const ban of this.#untoldBans.splice(0)) {
      await this.#restoreBan(ban.accountId, ban).catch(() => this.#untoldBans.push(ban));
    }
    for (const accountId of this.#options.mirror.untold()) await this.tell(accountId);
  }

  /** Remembers a ban, also beyond Redis; one that Redis did not decide it is told of later. */
  saveBan(
    { keyId, accountId }: Caller,
    { bannedUntil, banLevel: level }: Omit<Conduct, 'strikes'>,
    decidedBy: 'redis' | 'alone',
  ): void {
    const ban = { keyId, accountId, bannedUntil, level };
    if (decidedBy === 'alone') this.#untoldBans.push(ban);
    // A memory that is away costs no request anything: Redis has the ban, or this instance.
    void this.#options.memory.saveBan(ban).catch(() => undefined);
  }

  async forgetBan(keyId: number): Promise<void> {
    await this.#options.memory.deleteBan(keyId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  async #introduce(accountId: number, keyId: number): Promise<void> {
    const { mirror } = this.#options;
    const { usage, bans } = await this.#remembered(accountId);
    const none = { openedAt: 0, count: 0 };
    const remembered = usage ?? { minute: none, day: none };
    const known = mirror.tell(accountId);
    await Promise.all([
      this.#restore(accountId, { usage: remembered, untoldMinute: 0, untoldDay: 0 }),
      known === undefined ? undefined : this.#restore(accountId, known),
      // What the mirror knows of bans may have been lifted; it counts if there is nothing better.
      ...(bans ?? [{ keyId, ...banOf(mirror.conduct(keyId)) }]).map((ban) =>
        this.#restoreBan(accountId, ban),
      ),
    ]);
  }

  /** Both undefined when the memory does not answer in time. */
  async #remembered(accountId: number): Promise<{ usage: Usage | undefined; bans: Ban[] | undefined }> {
    const { memory, timeoutMs } = this.#options;
    const nothing = { usage: undefined, bans: undefined };
    const asked = Promise.all([memory.findUsage(accountId), memory.findBans(accountId)]).then(
      ([usage, bans]) => ({ usage, bans }),
      () => nothing,
    );
    return Promise.race([asked, sleep(timeoutMs, nothing)]);
  }

  async #restore(accountId: number, { usage, untoldMinute, untoldDay }: Held): Promise<void> {
    const { minute, day } = usage;
    const { run, keys, time } = this.#options;
    await run(
      'restore',
      [keys.usage(accountId), keys.clock],
      [minute.openedAt, minute.count, untoldMinute, day.openedAt, day.count, untoldDay, ...time()],
    );
  }

  async #restoreBan(accountId: number, { keyId, bannedUntil, level }: Ban): Promise<void> {
    if (bannedUntil === 0) return;
    const { run, keys, time } = this.#options;
    await run(
      'restoreBan',
      [keys.conduct(accountId, keyId), keys.bans, keys.clock],
      [bannedUntil, level, `${keyId}:${accountId}`, ...time()],
    );
  }

  async #save(): Promise<void> {
    const { mirror, memory } = this.#options;
    for (let group = mirror.takeChanged(snapshotSize); group.length > 0; ) {
      try {
        await memory.saveUsage(group);
      } catch {
        mirror.putBackChanged(group.map(({ accountId }) => accountId));
        return;
      }
      group = mirror.takeChanged(snapshotSize);
    }
  }
}

function banOf({ bannedUntil, banLevel: level }: Conduct): Omit<Ban, 'keyId'> {
  return { bannedUntil, level };
}
