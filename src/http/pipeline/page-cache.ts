import { LRUCache } from 'lru-cache';
import { isRead, type Operation } from '../../contract/operation.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { ChangedIds, IdSpan } from '../../domain/changed-ids.ts';
import type { Resource, Versions } from '../../domain/resources.ts';
import type { PlainResponse } from './plain-response.ts';

/** Maximum size of the cache in bytes: small enough for the CPU cache, large enough for frequently requested pages. */
const maxCacheBytes = 8_388_608;
/** Estimated overhead per entry, in bytes. */
const entrySize = 1_024;
/** Number of recent request targets to remember. */
const recentTargets = 16_384;

interface CachedPage {
  readonly target: string;
  versions: Versions;
  readonly response: PlainResponse;
  readonly span: IdSpan | undefined;
  readonly mark: number;
}

/** A request whose response may be cached. */
interface PendingPage {
  readonly operation: Operation;
  /** Path and query. */
  readonly target: string;
  readonly versions: Versions;
}

/** A response, and the range of ids on which it depends. */
export interface ReadPage {
  readonly response: PlainResponse;
  readonly span: IdSpan | undefined;
}

/**
 * Cached responses to reads. A cached response is valid while its resources have the same versions as when it was read,
 * or if the store confirms that none of its rows has changed. Responses with a single object are not cached, because
 * a lookup in the store is as fast.
 */
export class PageCache {
  hits = 0;
  misses = 0;
  /** By hash of the target, because a number is found faster than a text. */
  readonly #pages = new LRUCache<number, CachedPage>({ maxSize: maxCacheBytes });
  /**
   * Hashes of recently requested targets. Each hash determines its slot, and replaces the previous hash in that slot.
   */
  readonly #recent = new Uint32Array(recentTargets);

  /**
   * Returns the cached response, or reads it. Caches a response that was also requested recently: most pages are
   * requested only once, by clients that follow links or look up ids, and cost neither a lookup nor memory.
   */
  getOrRead(
    page: PendingPage,
    changed: ChangedIds | undefined,
    read: () => Awaitable<ReadPage>,
  ): Awaitable<PlainResponse> {
    if (!isCacheable(page.operation)) return andThen(read(), responseOf);
    const hash = Bun.hash.xxHash32(page.target);
    const slot = hash % recentTargets;
    if (this.#recent[slot] !== hash) {
      this.#recent[slot] = hash;
      this.misses++;
      return andThen(read(), responseOf);
    }
    const cached = this.#get(page, hash, changed);
    const isHit = cached !== undefined && !(cached instanceof Promise);
    return isHit ? cached : this.#orRead(cached, page, hash, changed, read);
  }

  #get(
    { operation, target, versions }: PendingPage,
    hash: number,
    changed: ChangedIds | undefined,
  ): Awaitable<PlainResponse | undefined> {
    const page = this.#pages.get(hash);
    if (page?.target !== target) return this.#counted(undefined);
    if (isCurrent(operation, page.versions, versions)) return this.#counted(page);
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

  #counted(page: CachedPage | undefined): PlainResponse | undefined {
    if (page === undefined) this.misses++;
    else this.hits++;
    return page?.response;
  }

  /** Separate from `getOrRead`, because a function that creates a closure takes longer on every path. */
  #orRead(
    cached: Awaitable<PlainResponse | undefined>,
    page: PendingPage,
    hash: number,
    changed: ChangedIds | undefined,
    read: () => Awaitable<ReadPage>,
  ): Awaitable<PlainResponse> {
    return andThen(cached, (known) => known ?? this.#readAndKeep(page, hash, changed, read));
  }

  #readAndKeep(
    { operation, target, versions }: PendingPage,
    hash: number,
    changed: ChangedIds | undefined,
    read: () => Awaitable<ReadPage>,
  ): Awaitable<PlainResponse> {
    // Before the resources are read.
    const mark = changed?.mark(operation.reads[0] as Resource) ?? 0;
    return andThen(read(), ({ response, span }) => {
      // A `Response` with bytes costs 0.6 µs more than one with a Blob, because bytes are mutable and must be copied.
      const body = new Blob([response.body ?? '']);
      const size = body.size + target.length + entrySize;
      this.#pages.set(hash, { target, versions, response: { ...response, body }, span, mark }, { size });
      return response;
    });
  }
}

function responseOf({ response }: ReadPage): PlainResponse {
  return response;
}

/** Whether all resources in a cached response still have the same version. */
function isCurrent({ reads }: Operation, held: Versions, now: Versions): boolean {
  for (const resource of reads as readonly Resource[]) if (held[resource] !== now[resource]) return false;
  return true;
}

function isCacheable(operation: Operation): boolean {
  const isSingle = operation.params !== undefined && !operation.paginated;
  return isRead(operation) && operation.reads.length > 0 && !isSingle && operation.needs === undefined;
}
