import type { OperationId } from '../../../src/contract/operations.ts';
import type { Checkable } from '../../support/contract.ts';
import { chosenBy, type Request } from './request.ts';
import { Tags } from './tags.ts';
import type { Outcome } from './world.ts';

/** How far the times of the service may be from those of the walk, on the same machine. */
const clockSlackMs = 1_000;

const makes: Readonly<Partial<Record<OperationId, 'animal' | 'order'>>> = {
  createPet: 'animal',
  placeOrder: 'order',
};

/** What was known when a request was sent. */
export interface Known {
  readonly highest: Readonly<Record<'animal' | 'order', bigint>>;
  readonly at: number;
}

/** What all clients of a walk have in common. */
export class Shared {
  readonly tags = new Tags();
  /** How often each operation was answered in each way: by its code, or by its status. */
  readonly answers = new Map<string, number>();
  readonly #now: () => number;
  readonly #ids = { animal: new Set<bigint>(), order: new Set<bigint>() };
  readonly #highest = { animal: 0n, order: 0n };
  #ticks = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** One count for all clients: what has the smaller number was first. */
  tick(): number {
    return this.#ticks++;
  }

  beforeSending(): Known {
    return { highest: { ...this.#highest }, at: this.#now() };
  }

  /** The request was answered as expected. */
  meet({ operationId, refused, way }: Request, expected: Outcome): void {
    const ways = expected.ways?.map((one) => `${operationId} ${one}`) ?? [];
    if (way !== undefined && expected === refused) ways.push(way);
    for (const one of ways) this.answers.set(one, (this.answers.get(one) ?? 0) + 1);
  }

  tally({ operationId, method }: Request, { status, headers, text }: Checkable): void {
    const code = status >= 400 && text !== '' ? /"code":"(\w+)"/.exec(text)?.[1] : undefined;
    const replayed = headers.has('idempotent-replayed') ? ' replayed' : '';
    const how = `${operationId} ${method === 'HEAD' ? 'HEAD ' : ''}${code ?? status}${replayed}`;
    this.answers.set(how, (this.answers.get(how) ?? 0) + 1);
  }

  /** Ids ascend and are never used again; an order changes at the time of its request. */
  checkChosen(
    { operationId, body, method, target }: Request,
    answer: Checkable,
    { highest, at: sentAt }: Known,
  ): void {
    const { status, headers } = answer;
    if (method === 'GET' || method === 'HEAD' || status >= 300 || headers.has('idempotent-replayed')) return;
    const chosen = chosenBy(answer);
    const kind = makes[operationId];
    if (kind !== undefined) {
      if (this.#ids[kind].has(chosen.id)) throw new Error(`${kind} ${chosen.id} was made twice`);
      if (chosen.id <= highest[kind]) throw new Error(`${kind} ${chosen.id} comes after ${highest[kind]}`);
      this.#ids[kind].add(chosen.id);
      if (chosen.id > this.#highest[kind]) this.#highest[kind] = chosen.id;
    }
    const time = Date.parse(chosen.at);
    if (time < sentAt - clockSlackMs || time > this.#now() + clockSlackMs)
      throw new Error(`${method} ${target} ${body ?? ''} was done at ${chosen.at}`);
  }
}
