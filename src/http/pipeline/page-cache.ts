import { LRUCache } from 'lru-cache';
import { isRead, type Operation } from '../../contract/operations.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { ChangedIds, IdSpan } from '../../domain/changed-ids.ts';
import type { Resource, Versions } from '../../domain/resources.ts';
import type { Answer } from './answers.ts';

/**
 * Maximum size of the cache in bytes: small enough for the processor's cache, large enough for frequently requested
 * pages.
 */
const maxCacheBytes = 8_388_608;
/** Overhead of an entry, in bytes. */
const entrySize = 512;

interface CachedPage {
  versions: Versions;
  readonly answer: Answer;
  readonly span: IdSpan | undefined;
  readonly mark: number;
}

/** A request whose answer may be cached. */
interface Reading {
  readonly operation: Operation;
  /** Path and query. */
  readonly target: string;
  readonly versions: Versions;
}

/**
 * Cached responses to reads. A response is valid while its resources have the versions under which it was read, or
 * while the store detects that none of its rows has changed. Single resources are not cached, because a lookup costs as
 * little.
 */
export class PageCache {
  hits = 0;
  misses = 0;
  readonly #pages = new LRUCache<string, CachedPage>({ maxSize: maxCacheBytes });

  get(
    { operation, target, versions }: Reading,
    changed: ChangedIds | undefined,
  ): Awaitable<Answer | undefined> {
    if (!isHeld(operation)) return undefined;
    const page = this.#pages.get(target);
    if (page === undefined || isCurrent(operation, page.versions, versions)) return this.#counted(page);
    const [resource, ...others] = operation.reads as readonly Resource[];
    const { span, mark } = page;
    if (changed === undefined || span === undefined || resource === undefined || others.length > 0) {
      return this.#counted(undefined);
    }
    return changed.isUnchanged(resource, span, mark, versions).then((isUnchanged) => {
      if (!isUnchanged) return this.#counted(undefined);
      page.versions = versions;
      return this.#counted(page);
    });
  }

  /** Returns a function that caches the response. Call this before reading the response. */
  keeper({ operation, target, versions }: Reading, changed: ChangedIds | undefined) {
    if (!isHeld(operation)) return () => undefined;
    const mark = changed?.mark(operation.reads[0] as Resource) ?? 0;
    return (answer: Answer, span: IdSpan | undefined): void => {
      // A `Response` of bytes costs 0.6 µs more than one of a Blob, because bytes may change and are therefore copied.
      const body = new Blob([answer.body ?? '']);
      const size = body.size + target.length + entrySize;
      this.#pages.set(target, { versions, answer: { ...answer, body }, span, mark }, { size });
    };
  }

  #counted(page: CachedPage | undefined): Answer | undefined {
    if (page === undefined) this.misses++;
    else this.hits++;
    return page?.answer;
  }
}

/** All data of a cached response has a version. */
function isCurrent({ reads }: Operation, held: Versions, now: Versions): boolean {
  for (const resource of reads as readonly Resource[]) if (held[resource] !== now[resource]) return false;
  return true;
}

function isHeld(operation: Operation): boolean {
  const isSingle = operation.params !== undefined && !operation.paginated;
  return isRead(operation) && operation.reads.length > 0 && !isSingle && operation.needs === undefined;
}
