import type { PlanName, Quota } from '../../src/domain/plan.ts';
import { plans } from '../../src/domain/plan.ts';
import { type Client, clientOf } from '../support/client.ts';
import { issueKey } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** Requests under way at once: writers, and callers of each limited account. */
const writers = 8;
export const callersPerAccount = 3;
/** Over how long the limited accounts spread their requests, so that a kill meets them at any count. */
const spreadMs = 1_200;

/** An animal as it was acknowledged. */
export interface Acknowledged {
  readonly id: number;
  readonly name: string;
}

/** Clients that add animals, each under a name of its own, until the service is gone. */
export class Writers {
  readonly acknowledged: Acknowledged[] = [];
  readonly #sent = new Set<string>();

  /** Resolves when the service does not answer any more. */
  async run(client: Client, prefix: string): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, (_, writer) => this.#write(client, `${prefix}-${writer}`)),
    );
  }

  wasSent(name: string): boolean {
    return this.#sent.has(name);
  }

  /** Resolves when that many animals have been acknowledged. */
  async reached(count: number): Promise<void> {
    await until(() => this.acknowledged.length >= count);
  }

  get sent(): number {
    return this.#sent.size;
  }

  get unanswered(): number {
    return this.sent - this.acknowledged.length;
  }

  async #write(client: Client, prefix: string): Promise<void> {
    for (let number = 0; ; number++) {
      const name = `${prefix}-${number}`;
      this.#sent.add(name);
      const reply = await client.add(name).catch(() => undefined);
      if (reply === undefined) return;
      if (reply.status !== 201) throw new Error(`A creation was answered ${reply.status}: ${reply.text}`);
      const { id, name: echoed } = JSON.parse(reply.text) as Acknowledged;
      if (echoed !== name) throw new Error(`"${name}" was answered as "${echoed}".`);
      this.acknowledged.push({ id, name });
    }
  }
}

/** An account whose limit is used up across a kill, counted on the side of its clients. */
export class LimitedAccount {
  readonly name: string;
  /** The limit that binds. */
  readonly limit: number;
  readonly #key: string;
  /** Admitted requests by the window they were counted in (its Reset). */
  readonly #admitted = new Map<string, number>();
  #unanswered = 0;

  private constructor(name: string, limit: number, key: string) {
    this.name = name;
    this.limit = limit;
    this.#key = key;
  }

  /** Fresh accounts of every kind: bound by the minute or by the day. */
  static async make(folder: string): Promise<LimitedAccount[]> {
    const custom: Quota = { perMinute: 550, perDay: 550 };
    const kinds: [string, PlanName, number, Quota?][] = [
      ['Free', 'free', plans.free.perMinute],
      ['Pro', 'pro', plans.pro.perMinute],
      ['custom', 'enterprise', custom.perDay, custom],
    ];
    const made: LimitedAccount[] = [];
    for (const [name, plan, limit, quota] of kinds) {
      made.push(new LimitedAccount(name, limit, await issueKey(folder, plan, quota)));
    }
    return made;
  }

  /** Calls at an even pace until the limit is reached or the service is gone. */
  async spend(url: string): Promise<void> {
    await this.#call(url, (spreadMs * callersPerAccount) / this.limit);
  }

  /** Calls as fast as it can until the limit is reached. */
  async exhaust(url: string): Promise<void> {
    await this.#call(url, 0);
  }

  /** Requests charged that nobody got. Throws if more were admitted than a window allows, or less but for those unanswered. */
  chargedUnused(): number {
    for (const [reset, admitted] of this.#admitted) {
      if (admitted > this.limit) {
        throw new Error(`${this.name}: ${admitted} of ${this.limit} admitted in the window to ${reset}.`);
      }
    }
    // A machine that stood still for a minute: the window ended before the limit was reached.
    if (this.#admitted.size !== 1) return 0;
    const [admitted = 0] = this.#admitted.values();
    const lost = this.limit - admitted;
    if (lost > this.#unanswered) {
      throw new Error(`${this.name}: ${lost} charged unused, ${this.#unanswered} of them unanswered.`);
    }
    return lost;
  }

  async #call(url: string, pauseMs: number): Promise<void> {
    const client = clientOf(url, this.#key);
    const caller = async () => {
      for (;;) {
        const reply = await client.get('/pets?limit=1').catch(() => undefined);
        if (reply === undefined) this.#unanswered++;
        if (reply === undefined || reply.status === 429) return;
        if (reply.status !== 200) throw new Error(`${this.name} was answered ${reply.status}: ${reply.text}`);
        const reset = reply.headers.get('x-ratelimit-reset') ?? '';
        this.#admitted.set(reset, (this.#admitted.get(reset) ?? 0) + 1);
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: callersPerAccount }, caller));
  }
}
