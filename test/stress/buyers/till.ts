import { setTimeout as sleep } from 'node:timers/promises';
import { maxWaitMs } from '../../support/wait.ts';
import type { Chance } from '../generate/chance.ts';
import type { ShopPlace } from '../shop-places.ts';

const pauseMs = { least: 5, most: 50 } as const;
/** How many of the tries a client gives up before it can have the answer, and after which time. */
const impatient = { often: 0.05, mostMs: 20 } as const;

export interface Said {
  readonly status: number;
  readonly text: string;
  /** Whether tries before this one had no answer: one of them may be done yet, if this answer is a refusal. */
  readonly isInDoubt: boolean;
}

/** Sends what the buyers send, each as often as it takes until it is answered. */
export class Till {
  readonly #ground: ShopPlace;
  readonly counts = { answered: 0, unanswered: 0, unavailable: 0, 'in use': 0, replayed: 0 };

  constructor(ground: ShopPlace) {
    this.#ground = ground;
  }

  get(target: string, chance: Chance): Promise<Said> {
    return this.#send(target, {}, chance);
  }

  /** Done once, however often it is sent: every try has the same `Idempotency-Key`. */
  post(target: string, body: string, idempotencyKey: string, chance: Chance): Promise<Said> {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
    return this.#send(target, { method: 'POST', body, headers }, chance);
  }

  async #send(target: string, request: RequestInit, chance: Chance): Promise<Said> {
    const headers = { Authorization: `Bearer ${this.#ground.key}`, ...request.headers };
    const until = performance.now() + maxWaitMs;
    for (let isInDoubt = false; performance.now() < until; isInDoubt = true) {
      const givesUp = chance.often(impatient.often) ? chance.int(1, impatient.mostMs) : undefined;
      const url = `${chance.pick(this.#ground.urls())}/v1${target}`;
      const said = await this.#try(url, { ...request, headers }, givesUp);
      if (said !== undefined) return { ...said, isInDoubt };
      await sleep(chance.int(pauseMs.least, pauseMs.most));
    }
    throw new Error(`${target} was not answered within ${maxWaitMs} ms, however often it was sent.`);
  }

  /** Undefined when it has to be sent again. */
  async #try(
    url: string,
    request: RequestInit,
    givesUpAfterMs = maxWaitMs,
  ): Promise<Omit<Said, 'isInDoubt'> | undefined> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, { ...request, signal: AbortSignal.timeout(givesUpAfterMs) });
      text = await response.text();
    } catch (error) {
      const isTimeout = (error as Error).name === 'TimeoutError';
      if (isTimeout && givesUpAfterMs === maxWaitMs) throw new Error(`${url} was never answered.`);
      this.counts.unanswered++;
      return undefined;
    }
    const { status, headers } = response;
    if (status === 503) this.counts.unavailable++;
    else if (text.includes('"idempotency_key_in_use"')) this.counts['in use']++;
    else {
      this.counts.answered++;
      if (headers.has('idempotent-replayed')) this.counts.replayed++;
      return { status, text };
    }
    return undefined;
  }
}
