/**
 * Virtual time for tests with long waits. Time advances for the clients and the service, but only while all of them are
 * idle.
 */
import type { Clock } from '../../client/src/clock.ts';
import { AnimalStore, type AnimalStoreOptions } from '../../client/src/index.ts';
import type { FakeClock } from './clock.ts';

/**
 * Number of idle event-loop ticks after which the work is considered stuck. Work without requests and timers takes far
 * fewer ticks.
 */
const mostIdleTurns = 10_000;

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class VirtualTime implements Clock {
  readonly #service: FakeClock;
  #now = 0;
  #timers: Timer[] = [];
  #underWay = 0;
  /** Settles when the previous request has ended. Never rejects. */
  #previous: Promise<unknown> = Promise.resolve();
  #random = 1;

  /** `service` is the service's clock, which advances with this time. */
  constructor(service: FakeClock) {
    this.#service = service;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  /** Returns the same series of numbers in each run (a linear congruential generator, Numerical Recipes). */
  random(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random / 2 ** 32;
  }

  /** Advances time without running timers, as if the process was suspended. */
  suspend(ms: number): void {
    this.#now += ms;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /**
   * Time does not advance while a request is in flight. Requests reach the service one at a time, because clients
   * cannot observe the order in which concurrent requests are counted.
   */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    this.#underWay++;
    const response = this.#previous.then(() => responseOf(url, init));
    this.#previous = response.catch(() => {});
    return response.finally(() => {
      this.#underWay--;
    });
  };

  /** Creates a client that uses this time. */
  client(options: AnimalStoreOptions): AnimalStore {
    const inTime = { fetch: this.fetch, ...options, clock: this };
    return new AnimalStore(inTime);
  }

  /** Advances time until the work has finished. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    let idleTurns = 0;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    while (!isDone) {
      // Runs ready tasks first, such as a received response and its continuations.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (isDone || this.#underWay > 0) continue;
      idleTurns = this.#timers.length > 0 ? 0 : idleTurns + 1;
      if (idleTurns > mostIdleTurns) throw new Error('The work has not finished, but no timer is left.');
      this.#step();
    }
    return work;
  }

  #step(): void {
    const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
    if (next === undefined) return;
    const ms = Math.ceil(Math.max(0, next.at - this.#now));
    this.#now += ms;
    this.#service.advance(ms / 1_000);
    const due = this.#timers.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { run } of due) run();
  }
}

async function responseOf(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const body = await response.arrayBuffer();
  const { status, headers } = response;
  return new Response(body.byteLength > 0 ? body : null, { status, headers });
}
