import { LRUCache } from 'lru-cache';
import type { Operation } from '../contract/operations.ts';
import type { Answer } from './answers.ts';

/** Bound of what is held, in bytes; small enough to stay in the processor's reach, large enough for the busy pages. */
const heldSize = 8_388_608;
/** What an entry costs besides its body and target. */
const entrySize = 512;

/**
 * Pages of the list, ready to send again: an answer to the same target, which is path and query, is good while the catalogue is at the
 * version it was made under. Reading, checking, querying and encoding are skipped then. A single animal is asked
 * for anew: to keep it costs as much as to find it.
 */
export class PageCache {
  readonly #held = new LRUCache<string, { readonly version: number; readonly answer: Answer }>({
    maxSize: heldSize,
  });

  get({ paginated }: Operation, target: string, version: number): Answer | undefined {
    if (paginated !== true) return undefined;
    const held = this.#held.get(target);
    return held?.version === version ? held.answer : undefined;
  }

  keep({ paginated }: Operation, target: string, version: number, answer: Answer): void {
    if (paginated !== true) return;
    // A `Response` of bytes costs 0.6 µs more than one of a Blob, for bytes may change and so are copied.
    const body = new Blob([answer.body]);
    const size = body.size + target.length + entrySize;
    this.#held.set(target, { version, answer: { ...answer, body } }, { size });
  }
}
