/** Measures how long an instance returns stale data after an acknowledged change. */

import { encodeCursor } from '../../src/contract/cursor.ts';
import { basePath } from '../../src/contract/operations.ts';
import { maxStaleMs } from '../../src/domain/shared-versions.ts';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import type { StressResult } from './stress-test.ts';

/** A list request sent later than this after an animal was acknowledged must return the animal or a 503. */
const boundMs = maxStaleMs;
const everyMs = 50;
/** Interval at which animals are added. Long enough to detect a missing animal before the next one is added. */
const addedEveryMs = 1_500;
/** Items per page. */
const pageSize = 100;
const status = 'pending';
const firstPage = `/pets?limit=${pageSize}&status=${status}`;

/** Adds pending animals to one instance at a time, and reads the last page of pending animals from all instances. */
export class Staleness {
  readonly #urls: readonly string[];
  readonly #key: string;
  /** Animals added since the last pause, and when each was acknowledged. */
  #acknowledged: { readonly id: number; readonly at: number }[] = [];
  #target = firstPage;
  #watching: Promise<unknown> = Promise.resolve();
  #stopped = true;
  #reads = 0;
  #stale = 0;
  #longestMs = 0;
  #longestAfterChangeMs = 0;

  constructor(urls: readonly string[], key: string) {
    this.#urls = urls;
    this.#key = key;
  }

  /** Adds animals to this instance and reads them from all instances. */
  watch(url: string): void {
    this.#stopped = false;
    const reading = this.#urls.map((one) => this.#read(clientOf(one, this.#key)));
    this.#watching = Promise.all([this.#add(url), ...reading]);
  }

  /** Stops adding and reading. The next `watch` reads only animals added after this call. */
  async rest(during: string): Promise<void> {
    this.#stopped = true;
    await this.#watching;
    const last = Math.max(0, ...this.#acknowledged.map(({ id }) => id));
    if (last > 0)
      this.#target = `${firstPage}&cursor=${encodeCursor({ after: BigInt(last), filters: status ?? '' })}`;
    this.#acknowledged = [];
    if (this.#longestMs > boundMs) {
      throw new Error(`${during}: an animal was missing ${Math.round(this.#longestMs)} ms after its 201.`);
    }
  }

  /**
   * Makes a change that every instance must apply within the time limit. Resolves when all instances have applied the
   * change.
   */
  async changed(
    what: string,
    key: string,
    change: () => Promise<unknown>,
    isStale: (reply: Reply) => boolean,
  ): Promise<void> {
    await change();
    const at = performance.now();
    const applied = this.#urls.map(async (url) => {
      for (;;) {
        const lateMs = performance.now() - at;
        if (!isStale(await clientOf(url, key).get('/pets?limit=1'))) return;
        this.#longestAfterChangeMs = Math.max(this.#longestAfterChangeMs, lateMs);
        if (lateMs > boundMs) throw new Error(`${what} is not applied after ${Math.round(lateMs)} ms.`);
        await Bun.sleep(everyMs);
      }
    });
    await Promise.all(applied);
  }

  summary(): string {
    return `${this.#stale} of ${this.#reads} lists stale, by at most ${Math.round(this.#longestMs)} ms`;
  }

  figures(): StressResult {
    return {
      'lists read': this.#reads,
      'stale lists': this.#stale,
      'longest staleness in ms': Math.round(this.#longestMs),
      'longest delay of a revocation or ban removal, in ms': Math.round(this.#longestAfterChangeMs),
    };
  }

  async #add(url: string): Promise<void> {
    while (!this.#stopped && this.#acknowledged.length < pageSize) {
      const response = await fetch(`${url}${basePath}/pets`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${this.#key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: 'watched', categoryId: 1, status }),
      });
      const text = await response.text();
      const at = performance.now();
      if (response.status === 201)
        this.#acknowledged.push({ id: (JSON.parse(text) as { id: number }).id, at });
      await Bun.sleep(addedEveryMs);
    }
  }

  async #read(client: Client): Promise<void> {
    while (!this.#stopped) {
      const asked = performance.now();
      const expected = this.#acknowledged.filter(({ at }) => at < asked);
      const reply = await client.get(this.#target);
      if (reply.status === 200) {
        this.#reads++;
        const page = (JSON.parse(reply.text) as { id: number }[]).map(({ id }) => id);
        this.#decide(page, expected, asked);
      }
      await Bun.sleep(everyMs);
    }
  }

  #decide(page: readonly number[], expected: readonly { id: number; at: number }[], asked: number): void {
    const last = page.at(-1) ?? 0;
    // Animals after the end of a full page do not count as missing.
    const missing = expected.filter(({ id }) => !page.includes(id) && (page.length < pageSize || id < last));
    if (missing.length === 0) return;
    this.#stale++;
    for (const { at } of missing) this.#longestMs = Math.max(this.#longestMs, asked - at);
  }
}
