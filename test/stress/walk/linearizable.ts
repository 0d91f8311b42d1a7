/**
 * Checks linearizability (Herlihy and Wing, 1990): some sequential order of the requests explains all responses.
 * Independent objects can be checked separately, because linearizability is local: a system is linearizable if and only
 * if each object is.
 */
import type { Checkable } from '../../support/contract.ts';
import { mistakeOf } from './judge.ts';
import { headersOf, isRead, perform, type Request } from './request.ts';
import type { Tags } from './tags.ts';
import { World } from './world.ts';

/** A request and its response, and the times of both on a logical clock that all clients share. */
export interface Exchange {
  readonly request: Request;
  readonly answer: Checkable;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * The state of the model after all clients' exchanges. Throws if no sequential order explains the exchanges.
 */
export function settled(start: World, exchanges: readonly Exchange[], tags: Tags): World {
  const search = new Search(exchanges, tags);
  const found = search.from(start);
  if (found !== undefined) return found;
  const story = exchanges.map(({ request, answer, sentAt, answeredAt }) => {
    const { method, target, body = '' } = request;
    const sent = `${method} ${target} ${body} ${JSON.stringify(headersOf(request))}`;
    return `${sentAt}–${answeredAt} ${sent} → ${answer.status} ${answer.text}`;
  });
  throw new Error(
    `No order explains these responses:\n${search.stuckAt()}\nAll exchanges:\n${story.join('\n')}`,
  );
}

class Search {
  readonly #exchanges: readonly Exchange[];
  readonly #tags: Tags;
  /** For each exchange, the exchanges that must precede it. */
  readonly #before: readonly (readonly number[])[];
  readonly #failed = new Set<string>();
  /** Length of the longest sequence found, and the reasons why no exchange can follow it. */
  #stuck: { readonly taken: number; readonly why: readonly string[] } = { taken: -1, why: [] };

  constructor(exchanges: readonly Exchange[], tags: Tags) {
    this.#exchanges = exchanges;
    this.#tags = tags;
    this.#before = exchanges.map((one) =>
      exchanges.flatMap((other, index) => (precedes(other, one) ? [index] : [])),
    );
  }

  from(world: World, done: ReadonlySet<number> = new Set()): World | undefined {
    const taken = new Set(done);
    const changes = this.#takeWhatChangesNothing(world, taken);
    if (taken.size === this.#exchanges.length) return world;
    const here = `${[...taken].sort().join()} ${world.fingerprint()}`;
    if (this.#failed.has(here)) return undefined;
    for (const [index, next] of changes) {
      const end = this.from(next, new Set(taken).add(index));
      if (end !== undefined) return end;
    }
    this.#failed.add(here);
    if (taken.size > this.#stuck.taken) this.#stuck = { taken: taken.size, why: this.#whyNot(world, taken) };
    return undefined;
  }

  stuckAt(): string {
    const { taken, why } = this.#stuck;
    return `${taken} of ${this.#exchanges.length} are explained, then none can come next:\n${why.join('\n')}`;
  }

  #whyNot(world: World, taken: ReadonlySet<number>): string[] {
    return this.#exchanges.flatMap(({ request, answer, sentAt }, index) => {
      if (!this.#canCome(index, taken)) return [];
      const expected = perform(new World(world), request, answer, this.#tags);
      return `${sentAt} ${request.method} ${request.target}: ${mistakeOf(request, expected, answer, this.#tags)}`;
    });
  }

  #canCome(index: number, taken: ReadonlySet<number>): boolean {
    return !taken.has(index) && this.#before[index]?.every((one) => taken.has(one)) === true;
  }

  /**
   * Takes all exchanges that can come next and do not change the store, because taking them first never rules out a
   * valid order. Returns the other exchanges that can come next, with the resulting states.
   */
  #takeWhatChangesNothing(world: World, taken: Set<number>): Map<number, World> {
    const changes = new Map<number, World>();
    for (let before = -1; before < taken.size; ) {
      before = taken.size;
      for (const [index, exchange] of this.#exchanges.entries()) {
        if (changes.has(index) || !this.#canCome(index, taken)) continue;
        const next = this.#after(world, index);
        if (next === undefined) continue;
        if (changesNothing(exchange)) taken.add(index);
        else changes.set(index, next);
      }
    }
    return changes;
  }

  /** The state of the model after an exchange. Undefined if the response contradicts the model. */
  #after(world: World, index: number): World | undefined {
    const { request, answer } = this.#exchanges[index] as Exchange;
    const next = new World(world);
    const expected = perform(next, request, answer, this.#tags);
    return mistakeOf(request, expected, answer, this.#tags) === undefined ? next : undefined;
  }
}

/** True for reads, errors and replayed responses. */
function changesNothing({ request, answer: { status, headers } }: Exchange): boolean {
  return isRead(request) || status >= 400 || headers.has('idempotent-replayed');
}

/**
 * True if one exchange ended before the other began. Reads of pages are not ordered: a process may cache a page until a
 * change is acknowledged, so two readers may see an unacknowledged change in either order.
 */
function precedes(one: Exchange, other: Exchange): boolean {
  if (one.answeredAt >= other.sentAt) return false;
  const mayBeHeld = isPage(one.request) || isPage(other.request);
  return !(mayBeHeld && isRead(one.request) && isRead(other.request));
}

function isPage(request: Request): boolean {
  return isRead(request) && !/^\/\w+\/-?\d/.test(request.target);
}
