/** Many requests at once over HTTP: each window admits exactly its limit, and Retry-After is exactly true. */
import { type PlanName, plans, type Quota } from '../../src/domain/plan.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { type WireResponse, Wires } from './wire.ts';

const connections = 64;

/** One account, its keys used side by side, window after window. */
class Windows implements Disposable {
  readonly #app: TestApp;
  readonly #wires: Wires;
  readonly #plan: PlanName;
  readonly #quota: Quota;
  readonly #keys: string[];
  #dayOpened = 0;
  #usedOfDay = 0;
  admitted = 0;
  refused = 0;

  private constructor(app: TestApp, plan: PlanName, quota: Quota, keys: string[]) {
    this.#app = app;
    this.#wires = new Wires(app.url, connections);
    this.#plan = plan;
    this.#quota = quota;
    this.#keys = keys;
  }

  static async open(app: TestApp, plan: keyof typeof plans): Promise<Windows> {
    const { account, key } = await app.tenant(plan);
    const second = await app.app.admin.keys.create(account.id, 'second');
    return new Windows(app, plan, plans[plan], [key, second.key]);
  }

  [Symbol.dispose](): void {
    this.#wires[Symbol.dispose]();
  }

  /** Fills one window and more, all at once, then waits as told. */
  async fill(chance: Chance): Promise<void> {
    const { clock } = this.#app;
    if (clock.seconds >= this.#dayOpened + 86_400) {
      this.#dayOpened = clock.seconds;
      this.#usedOfDay = 0;
    }
    const { perMinute, perDay } = this.#quota;
    const expected = Math.min(perMinute, perDay - this.#usedOfDay);
    const minuteEnds = clock.seconds + 60;
    const responses = await this.#burst(expected + chance.int(1, Math.ceil(perMinute / 5)), chance);
    const admitted = responses.filter(({ status }) => status === 200);
    same(`admitted in a window of ${this.#plan}`, admitted.length, expected);
    const remaining = new Set(admitted.map(({ headers }) => headers.get('ratelimit')));
    same('different counts in the headers', remaining.size, expected);
    this.#usedOfDay += expected;
    this.admitted += expected;
    this.refused += responses.length - expected;

    const dayEnds = this.#dayOpened + 86_400;
    const isDayFull = this.#usedOfDay === perDay && dayEnds >= minuteEnds;
    const resetAt = isDayFull || expected < perMinute ? dayEnds : minuteEnds;
    this.#checkRefusals(responses, resetAt);
    await this.#wait(resetAt, chance);
  }

  #checkRefusals(responses: readonly WireResponse[], resetAt: number): void {
    const nowMs = this.#app.clock.now();
    const refused = responses.filter(({ status }) => status !== 200);
    for (const { status, headers } of refused) {
      same('the status of a refusal', status, 429);
      same('Retry-After', headers.get('retry-after'), String(Math.ceil(resetAt - nowMs / 1_000)));
      same('X-RateLimit-Reset', headers.get('x-ratelimit-reset'), String(resetAt));
      same('X-RateLimit-Remaining', headers.get('x-ratelimit-remaining'), '0');
    }
  }

  /** A second too early is refused still; exactly on time is the next window's first. */
  async #wait(resetAt: number, chance: Chance): Promise<void> {
    const { clock } = this.#app;
    const nowMs = clock.now();
    const told = Math.ceil(resetAt - nowMs / 1_000);
    if (chance.often(0.1)) {
      clock.set(resetAt * 1_000 - 1);
      const [early] = await this.#burst(1, chance);
      same('the status of a millisecond too early', early?.status, 429);
      same('Retry-After a millisecond too early', early?.headers.get('retry-after'), '1');
    }
    // Windows begin on whole seconds, requests do not.
    clock.set(nowMs + told * 1_000);
    if (chance.often(0.5)) clock.advance(chance.int(0, 999) / 1_000);
  }

  async #burst(count: number, chance: Chance): Promise<WireResponse[]> {
    const responses: WireResponse[] = [];
    const requests = this.#keys.map((key) =>
      bytesOf({ method: 'GET', target: '/pets?limit=1', headers: [['Authorization', `Bearer ${key}`]] }),
    );
    const order = Array.from({ length: count }, () => chance.pick(requests));
    await this.#wires.each(count, async (wire, index) => {
      responses.push(await wire.send(order[index] as Uint8Array));
    });
    return responses;
  }
}

/** `rounds` is the number of windows of each plan. */
export async function limitConcurrency({ rounds, seed, progress }: StressOptions) {
  const failures = new Failures(seed);
  const figures: Record<string, number> = {};
  for (const plan of Object.keys(plans) as (keyof typeof plans)[]) {
    await using app = await startTestApp();
    using windows = await Windows.open(app, plan);
    // A window that fails leaves its account in doubt, so the first failure ends the plan.
    for (let index = 0; index < rounds && failures.count === 0; index++) {
      progress(`${plan}: ${index} of ${rounds} windows`);
      await failures.guard(`${plan} ${index}`, () => windows.fill(new Chance(seed, index)));
    }
    figures[`${plan}: admitted`] = windows.admitted;
    figures[`${plan}: refused`] = windows.refused;
  }
  failures.end();
  return figures;
}

export const limitBursts: StressTest = {
  name: 'limit-concurrency',
  promise:
    'under real concurrency each window of each plan admits exactly its limit, and Retry-After is exactly true',
  rounds: 1_000,
  run: limitConcurrency,
};
