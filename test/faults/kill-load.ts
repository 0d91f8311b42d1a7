import type { PlanName, Quota } from '../../src/domain/plan.ts';
import { plans } from '../../src/domain/plan.ts';
import { type Client, clientOf } from '../support/client.ts';
import { issueKey } from '../support/process.ts';
import { until } from '../support/wait.ts';
import type { Acknowledged } from './stored.ts';

/** Number of concurrent requests that add animals, and number of concurrent requests from each limited account. */
const writers = 8;
export const callersPerAccount = 3;

/** Clients that add animals with unique names until the service is killed. */
export class Writers {
  readonly acknowledged: Acknowledged[] = [];
  readonly #sent = new Set<string>();
  #isOver = false;

  /** Adds animals until the service no longer responds. */
  async run(client: Client, prefix: string): Promise<void> {
    const writing = Array.from({ length: writers }, (_, writer) =>
      this.#write(client, `${prefix}-${writer}`),
    );
    await Promise.all(writing).finally(() => {
      this.#isOver = true;
    });
  }

  wasSent(name: string): boolean {
    return this.#sent.has(name);
  }

  /** Resolves when this number of animals has been acknowledged, or the service is killed. */
  async reached(count: number): Promise<void> {
    await until(() => this.acknowledged.length >= count || this.#isOver);
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
      if (reply.status !== 201) throw new Error(`A create request returned ${reply.status}: ${reply.text}`);
      const { id, name: echoed } = JSON.parse(reply.text) as Acknowledged;
      if (echoed !== name) throw new Error(`The response for "${name}" contains "${echoed}".`);
      this.acknowledged.push({ id, name });
    }
  }
}

/** An account whose limit is exhausted before and after a kill. Counts the accepted requests. */
export class LimitedAccount {
  readonly name: string;
  /** The limit that is exhausted first. */
  readonly limit: number;
  readonly #key: string;
  /** Number of accepted requests, keyed by the Reset time of their window. */
  readonly #admitted = new Map<string, number>();
  #unanswered = 0;
  #called = 0;

  private constructor(name: string, limit: number, key: string) {
    this.name = name;
    this.limit = limit;
    this.#key = key;
  }

  /** Creates accounts that reach either the per-minute or the daily limit first. */
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

  /**
   * Sends requests until the limit is exhausted or the service no longer responds. `pace` receives the fraction of the
   * limit that has been used, and resolves when the next request may be sent. Defaults to no delay.
   */
  async spend(url: string, pace: (share: number) => Promise<void> = async () => undefined): Promise<void> {
    const client = clientOf(url, this.#key);
    const caller = async () => {
      for (;;) {
        const reply = await client.get('/pets?limit=1').catch(() => undefined);
        if (reply === undefined) this.#unanswered++;
        if (reply === undefined || reply.status === 429) return;
        if (reply.status !== 200)
          throw new Error(`a request of ${this.name} returned ${reply.status}: ${reply.text}`);
        const reset = reply.headers.get('x-ratelimit-reset') ?? '';
        this.#admitted.set(reset, (this.#admitted.get(reset) ?? 0) + 1);
        await pace(++this.#called / this.limit);
      }
    };
    await Promise.all(Array.from({ length: callersPerAccount }, caller));
  }

  /**
   * Number of requests that were counted but got no response. Throws if more requests were accepted than the limit
   * allows, or if more requests were counted than were sent.
   */
  chargedUnused(): number {
    for (const [reset, admitted] of this.#admitted) {
      if (admitted > this.limit) {
        throw new Error(`${this.name}: ${admitted} of ${this.limit} admitted in the window to ${reset}.`);
      }
    }
    // On a slow machine, the minute may end before the limit is reached.
    if (this.#admitted.size !== 1) return 0;
    const [admitted = 0] = this.#admitted.values();
    const lost = this.limit - admitted;
    if (lost > this.#unanswered) {
      throw new Error(
        `${this.name}: ${lost} counted requests were not accepted, but only ${this.#unanswered} got no response.`,
      );
    }
    return lost;
  }
}
