import { type OperationId, operations } from '../../../src/contract/operations.ts';
import type { Checkable } from '../../support/contract.ts';
import { resourceOf } from './places.ts';
import { chosenBy, type Request } from './request.ts';
import { Tags } from './tags.ts';
import type { Kind, Outcome } from './world.ts';

/** Maximum difference between the service's clock and the walk's clock, on the same machine. */
const clockSlackMs = 1_000;

/** The kind of object that an operation creates with an id chosen by the service. */
function madeBy(operationId: OperationId): Kind<never> | undefined {
  const { method, success } = operations[operationId];
  return method === 'POST' && 201 in success.descriptions ? resourceOf(operationId).kind : undefined;
}

/** State known from earlier responses when a request was sent. */
interface Known {
  /** For each kind, the highest id in any response so far. */
  readonly highest: ReadonlyMap<Kind<never>, bigint>;
  readonly at: number;
}

/** Shared state of all clients of a walk. */
export class Shared {
  readonly tags = new Tags();
  /** Number of responses, keyed by operation and error code or status. */
  readonly answers = new Map<string, number>();
  readonly #now: () => number;
  readonly #ids = new Map<Kind<never>, Set<bigint>>();
  readonly #highest = new Map<Kind<never>, bigint>();
  #ticks = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the next time on a logical clock that all clients share. */
  tick(): number {
    return this.#ticks++;
  }

  get now(): number {
    return this.#now();
  }

  beforeSending(): Known {
    return { highest: new Map(this.#highest), at: this.#now() };
  }

  /** Records which special outcomes a request covered, once it got the expected response. */
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

  /**
   * Checks that ids ascend and are never reused, and that the time of a change lies between its request and its
   * response.
   */
  checkChosen(
    { operationId, body, method, target }: Request,
    answer: Checkable,
    { highest, at: sentAt }: Known,
  ): void {
    const { status, headers } = answer;
    if (method === 'GET' || method === 'HEAD' || status >= 300 || headers.has('idempotent-replayed')) return;
    const chosen = chosenBy(answer);
    const kind = madeBy(operationId);
    if (kind !== undefined) this.#checkId(kind, chosen.id, highest.get(kind) ?? 0n);
    const time = Date.parse(chosen.at);
    if (time < sentAt - clockSlackMs || time > this.#now() + clockSlackMs)
      throw new Error(`${method} ${target} ${body ?? ''} has the time ${chosen.at}`);
  }

  #checkId(kind: Kind<never>, id: bigint, highestBefore: bigint): void {
    const ids = this.#ids.get(kind) ?? new Set();
    if (ids.has(id)) throw new Error(`id ${id} of the ${kind.name} was assigned twice`);
    if (id <= highestBefore) throw new Error(`id ${id} of the ${kind.name} comes after ${highestBefore}`);
    this.#ids.set(kind, ids.add(id));
    const highest = this.#highest.get(kind) ?? 0n;
    if (id > highest) this.#highest.set(kind, id);
  }
}
