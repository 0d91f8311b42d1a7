import { LRUCache } from 'lru-cache';
import type { Operation } from '../contract/operations.ts';
import type { Answer } from './answers.ts';

/** Bound of what is held, in UTF-16 units; small enough to stay in the processor's reach, large enough for the busy pages. */
const heldSize = 8_388_608;
/** What an entry costs besides its texts. */
const entrySize = 512;

/**
 * Answers of safe operations, ready to send again: an answer to the same target is good while the catalogue is
 * at the version it was made under. Reading, checking and querying are skipped then.
 */
export class FinishedAnswers {
  readonly #held = new LRUCache<string, { readonly version: number; readonly answer: Answer }>({
    maxSize: heldSize,
    sizeCalculation: ({ answer }, target) => answer.body.length + target.length + entrySize,
  });

  get(operation: Operation, target: string, version: number): Answer | undefined {
    if (operation.method !== 'GET') return undefined;
    const held = this.#held.get(target);
    return held?.version === version ? held.answer : undefined;
  }

  keep(operation: Operation, target: string, version: number, answer: Answer): void {
    if (operation.method === 'GET') this.#held.set(target, { version, answer });
  }
}
