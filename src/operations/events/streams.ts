import { mostStreams } from '../../contract/events.ts';
import { Refusal } from '../../contract/refusal.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Caller, KeyStore, LimitStore } from '../../storage/storage.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { EventFeed, Wanted } from './feed.ts';
import { type Filter, SharedFrames } from './frames.ts';
import { EventStream } from './stream.ts';

/** How often the keys of open streams are checked, in ms. */
const checkEveryMs = 500;
const commentEveryMs = 15_000;

interface StreamStore {
  readonly keys: Pick<KeyStore, 'fingerprints' | 'findCaller'>;
  readonly limits: Pick<LimitStore, 'standing'>;
}

/** What the streams of one key have in common. */
class KeyStreams {
  readonly streams = new Set<EventStream>();
  caller: Caller;
  /** The version of callers under which the caller was read; -1 if it has to be read again. */
  callersVersion: number;

  constructor(caller: Caller, callersVersion: number) {
    this.caller = caller;
    this.callersVersion = callersVersion;
  }
}

/** The open streams of a process, with one timer for all of them. */
export class EventStreams implements Disposable {
  readonly #store: StreamStore;
  readonly #feed: EventFeed;
  readonly #clock: Clock;
  readonly #parts;
  readonly #byKey = new Map<number, KeyStreams>();
  readonly #byAccount = new Map<number, number>();
  #open = 0;
  #timer: NodeJS.Timeout | undefined;
  #commentAt = 0;
  #isChecking = false;
  #isClosed = false;

  constructor(store: StreamStore, feed: EventFeed, clock: Clock) {
    this.#store = store;
    this.#feed = feed;
    this.#clock = clock;
    this.#parts = { feed, frames: new SharedFrames(), ended: (stream: EventStream) => this.#leave(stream) };
  }

  get open(): number {
    return this.#open;
  }

  /** Starts behind `after`, or with the next event. Refuses `too_many_streams`, and `events_expired` as the feed does. */
  begin(
    { caller, versions }: Authenticated,
    wanted: Wanted,
    after: bigint | undefined,
  ): Awaitable<EventStream> {
    const begun = after === undefined ? this.#feed.last() : andThen(this.#feed.read(after, 1), () => after);
    return andThen(begun, (from) => {
      const { accountId } = caller;
      const open = this.#byAccount.get(accountId) ?? 0;
      if (open >= mostStreams) throw new Refusal('too_many_streams');
      this.#byAccount.set(accountId, open + 1);
      this.#open++;
      const stream = this.#enter(caller, versions.callers, wanted, from);
      // No refusal, which a browser's EventSource would take for final.
      if (this.#isClosed) stream.end();
      else this.#start();
      return stream;
    });
  }

  /** Ends all streams, those that are opened afterwards as well. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const stream of this.#all()) stream.end();
  }

  *#all(): Iterable<EventStream> {
    for (const { streams } of this.#byKey.values()) yield* streams;
  }

  #enter(caller: Caller, callersVersion: number, wanted: Wanted, from: bigint): EventStream {
    const { keyId } = caller;
    const ofKey = this.#byKey.get(keyId) ?? new KeyStreams(caller, callersVersion);
    this.#byKey.set(keyId, ofKey);
    if (ofKey.callersVersion !== callersVersion) ofKey.callersVersion = -1;
    const types = [...wanted.types].join();
    const alike = ofKey.streams.values().find(({ filter }) => filter.types === types);
    const filter: Filter = alike?.filter ?? { wanted, types, keyId };
    const stream = new EventStream(this.#parts, filter, from);
    ofKey.streams.add(stream);
    return stream;
  }

  #leave(stream: EventStream): void {
    const { keyId } = stream.filter;
    const { streams, caller } = this.#byKey.get(keyId) as KeyStreams;
    const { accountId } = caller;
    streams.delete(stream);
    if (streams.size === 0) this.#byKey.delete(keyId);
    const open = (this.#byAccount.get(accountId) ?? 1) - 1;
    if (open === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, open);
    this.#open--;
    if (this.#open > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#commentAt = this.#clock.steady() + commentEveryMs;
    this.#timer = setInterval(() => this.#look(), checkEveryMs);
    this.#timer.unref();
  }

  #look(): void {
    const now = this.#clock.steady();
    if (now >= this.#commentAt) {
      this.#commentAt = now + commentEveryMs;
      for (const stream of this.#all()) stream.comment();
    }
    if (this.#isChecking) return;
    this.#isChecking = true;
    // While the store is not reached, the streams stay, without events.
    void Promise.allSettled([...this.#byKey.values()].map((ofKey) => this.#check(ofKey))).finally(() => {
      this.#isChecking = false;
    });
  }

  /** Ends the streams of a key that was revoked, has expired, is banned, or may not read what they send. */
  #check(ofKey: KeyStreams): Awaitable<void> {
    return andThen(this.#store.limits.standing(ofKey.caller), ({ verdict, versions }) => {
      const isOver = verdict.refusal === 'api_key_banned' || ofKey.caller.expiresAt <= this.#clock.now();
      if (isOver) for (const stream of ofKey.streams) stream.end();
      else if (ofKey.callersVersion !== versions.callers) return this.#readCaller(ofKey, versions.callers);
    });
  }

  async #readCaller(ofKey: KeyStreams, callersVersion: number): Promise<void> {
    const { keyId } = ofKey.caller;
    const [key] = await this.#store.keys.fingerprints(keyId, 1);
    const caller = key?.id === keyId ? await this.#store.keys.findCaller(key.fingerprint) : undefined;
    for (const stream of ofKey.streams) {
      if (caller === undefined || !stream.isAllowed(caller.scopes)) stream.end();
    }
    ofKey.caller = caller ?? ofKey.caller;
    ofKey.callersVersion = callersVersion;
  }
}
