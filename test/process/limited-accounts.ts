import type { Quota } from '../../src/domain/plan.ts';
import type { RawReply } from './connection.ts';
import { headerOf } from './each-worker.ts';
import type { WorkerStores } from './worker-stores.ts';

/** Of the day, as a minute may end during the test. */
const limit = 200;
const quota: Quota = { perMinute: limit, perDay: limit };

/** An account with two keys that is being used up. */
class LimitedAccount {
  readonly keys: readonly string[];
  /** What was said to remain, of each request that was admitted. */
  readonly remaining: number[] = [];
  unanswered = 0;
  isUsedUp = false;

  constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  /** Throws when more was admitted than the limit, a count was returned twice, or one was lost without a request. */
  check(): void {
    const different = new Set(this.remaining).size;
    const lost = limit - different;
    if (different < this.remaining.length || lost < 0 || (this.isUsedUp && lost > this.unanswered)) {
      throw new Error(
        `Of a limit of ${limit}, ${this.remaining.length} were admitted with ${different} different counts; ` +
          `${this.unanswered} were not answered.`,
      );
    }
  }
}

/** Accounts that are used up one after the other, each of them checked. */
export class LimitedAccounts {
  readonly #stores: Pick<WorkerStores, 'issueKey' | 'operator'>;
  readonly #all: LimitedAccount[] = [];
  #next: Promise<void> | undefined;

  private constructor(stores: Pick<WorkerStores, 'issueKey' | 'operator'>) {
    this.#stores = stores;
  }

  static async begin(stores: Pick<WorkerStores, 'issueKey' | 'operator'>): Promise<LimitedAccounts> {
    const accounts = new LimitedAccounts(stores);
    await accounts.#add();
    return accounts;
  }

  /** Uses the current account with one of its keys, and records the outcome. Throws as `ask` does. */
  async use(number: number, ask: (key: string) => Promise<RawReply>): Promise<RawReply> {
    const account = this.#all.at(-1) as LimitedAccount;
    account.unanswered++;
    const reply = await ask(account.keys[number % account.keys.length] as string);
    account.unanswered--;
    if (reply.status === 200) account.remaining.push(Number(headerOf(reply, 'x-ratelimit-remaining')));
    if (reply.status === 429 && !account.isUsedUp) {
      account.isUsedUp = true;
      this.#next = this.#add();
    }
    return reply;
  }

  /** Returns how many accounts were used up. Throws when one of them was not counted exactly. */
  async check(): Promise<number> {
    await this.#next;
    for (const account of this.#all) account.check();
    return this.#all.filter(({ isUsedUp }) => isUsedUp).length;
  }

  async #add(): Promise<void> {
    const { key, accountId } = await this.#stores.issueKey(quota);
    const second = await this.#stores.operator.keys.create(accountId, 'second');
    this.#all.push(new LimitedAccount([key, second.key]));
  }
}
