/**
 * Readers of the feed and the stream that start at any position, disconnect at random and store a hash of each event.
 */
import { EventSource } from '../support/event-source.ts';
import { until } from '../support/wait.ts';
import type { Failures } from './failures.ts';
import { Chance } from './generate/chance.ts';

/** Maximum number of events before a reader disconnects. */
const mostAtOnce = 20_000;
const pauseMs = 50;
const patienceMs = 120_000;

/** A service whose processes may be killed and replaced. */
export interface Serving {
  readonly key: string;
  urls(): readonly string[];
}

export interface Page {
  readonly texts: readonly string[];
  readonly next: number;
}

/** Returns the events after `after` as the service serialized them. Throws if the status is not 200. */
export async function readFeed(url: string, key: string, after: number, wait = 0): Promise<Page> {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/events?after=${after}&limit=100&wait=${wait}`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  // Quotation marks within strings are escaped, so this pattern occurs only between events.
  const texts = text === '[]' ? [] : text.slice(1, -1).split(/(?<=\}),(?=\{"id":\d+,"type":)/);
  return { texts, next: Number(/[?&]after=(\d+)/.exec(response.headers.get('link') ?? '')?.[1]) };
}

const idOf = (text: string) => Number(/^\{"id":(\d+)/.exec(text)?.[1]);

export class EventReader {
  /** Id of the event after which the reader started. */
  readonly start: number;
  readonly hashes: number[] = [];
  breaks = 0;
  readonly #chance: Chance;
  readonly #serving: Serving;
  readonly #reads: 'feed' | 'stream';
  #breakAt = 0;

  constructor(serving: Serving, reads: 'feed' | 'stream', start: number, seed: number) {
    this.#serving = serving;
    this.#reads = reads;
    this.start = start;
    this.#chance = new Chance(seed, start);
  }

  get position(): number {
    return this.start + this.hashes.length;
  }

  /** Reads up to and including event `last()`, and reconnects if the service is killed. */
  async read(last: () => number, failures: Failures): Promise<void> {
    let failedSince = Date.now();
    while (this.position < last() && failures.count === 0) {
      this.#breakAt = this.position + this.#chance.int(1, mostAtOnce);
      this.breaks++;
      const [url] = this.#chance.shuffled(this.#serving.urls());
      const before = this.position;
      try {
        if (url !== undefined)
          await (this.#reads === 'feed' ? this.#readPages(url, last) : this.#readStream(url, last));
      } catch (error) {
        if (isWrong(error) || Date.now() - failedSince > patienceMs) throw error;
      }
      if (this.position > before) failedSince = Date.now();
      await Bun.sleep(pauseMs);
    }
  }

  async #readPages(url: string, last: () => number): Promise<void> {
    while (this.position < Math.min(this.#breakAt, last())) {
      const { texts } = await readFeed(url, this.#serving.key, this.position, 1);
      for (const text of texts) this.#take(text);
    }
  }

  async #readStream(url: string, last: () => number): Promise<void> {
    const options = { key: this.#serving.key, lastEventId: String(this.position) };
    await using source = await EventSource.open(url, options);
    const take = () => {
      for (const { id, data } of source.events.splice(0)) {
        if (idOf(data) !== Number(id)) throw new Wrong(`The stream sent the id ${id} with ${data}.`);
        this.#take(data);
      }
    };
    await until(() => {
      take();
      return source.hasEnded || this.position >= Math.min(this.#breakAt, last());
    }, patienceMs);
    take();
  }

  #take(text: string): void {
    if (idOf(text) !== this.position + 1) throw new Wrong(`Event ${this.position} was followed by ${text}.`);
    this.hashes.push(Bun.hash.xxHash32(text));
  }
}

class Wrong extends Error {}

const isWrong = (error: unknown) => error instanceof Wrong || /^4\d\d /.test((error as Error).message);
