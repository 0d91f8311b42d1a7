/** Isolated stores of a sandbox, which have the same initial contents and share no state. */
import { ApiError } from '../src/contract/api-error.ts';
import { minuteMs } from '../src/domain/clock.ts';
import type { SandboxAccount } from './accounts.ts';

/** Maximum number of stores. Each store has a writer thread and uses several MB of memory. */
export const maxStores = 50;
/** A store without requests for this long is removed, because its test has probably ended. */
export const idleMinutes = 10;
const idleMs = idleMinutes * minuteMs;

interface OpenStore extends AsyncDisposable {
  readonly url: string;
  readonly accounts: readonly SandboxAccount[];
}

export interface StoreEntry {
  readonly id: number;
  readonly url: string;
  readonly accounts: readonly SandboxAccount[];
}

interface Used {
  readonly store: OpenStore;
  usedAt: number;
}

/** Opens a store that calls `onRequest` on every request. */
type OpenAStore = (onRequest: () => void) => Promise<OpenStore>;

export class Stores implements AsyncDisposable {
  readonly #open: OpenAStore;
  readonly #now: () => number;
  readonly #stores = new Map<number, Used>();
  readonly #timer: ReturnType<typeof setInterval>;
  #opening = 0;
  #count = 0;

  /** `now` returns monotonic milliseconds. */
  constructor(open: OpenAStore, now: () => number) {
    this.#open = open;
    this.#now = now;
    this.#timer = setInterval(() => void this.removeIdle(), idleMs / 10);
    this.#timer.unref();
  }

  /** Throws `service_unavailable` if there are too many stores. */
  async create(): Promise<StoreEntry> {
    if (this.#stores.size + this.#opening >= maxStores) {
      const message = `There are ${maxStores} stores. Remove one with DELETE /sandbox/stores/{id}.`;
      throw new ApiError('service_unavailable', { message });
    }
    this.#opening++;
    const id = ++this.#count;
    try {
      const store = await this.#open(() => this.#use(id));
      this.#stores.set(id, { store, usedAt: this.#now() });
      return entryOf(id, store);
    } finally {
      this.#opening--;
    }
  }

  list(): StoreEntry[] {
    return [...this.#stores].map(([id, { store }]) => entryOf(id, store));
  }

  async remove(id: number): Promise<void> {
    const used = this.#stores.get(id);
    if (used === undefined) throw new ApiError('route_not_found', { message: `There is no store ${id}.` });
    this.#stores.delete(id);
    await used.store[Symbol.asyncDispose]();
  }

  async removeIdle(): Promise<void> {
    const idle = [...this.#stores].filter(([, { usedAt }]) => this.#now() - usedAt >= idleMs);
    await Promise.all(idle.map(([id]) => this.remove(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#stores.keys()].map((id) => this.remove(id)));
  }

  #use(id: number): void {
    const used = this.#stores.get(id);
    if (used !== undefined) used.usedAt = this.#now();
  }
}

function entryOf(id: number, { url, accounts }: OpenStore): StoreEntry {
  return { id, url, accounts };
}
