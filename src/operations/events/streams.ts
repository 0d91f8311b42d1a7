import { mostStreams } from '../../contract/events.ts';
import { Refusal } from '../../contract/refusal.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Caller, KeyStore, LimitStore } from '../../storage/storage.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { EventFeed, Wanted } from './feed.ts';
import { SharedFrames } from './frames.ts';
import { EventStream } from './stream.ts';

/** How often it is checked whether readers may go on, in ms. */
const checkEveryMs = 500;
const commentEveryMs = 15_000;

interface StreamStore {
  readonly keys: Pick<KeyStore, 'fingerprints' | 'findCaller'>;
  readonly limits: Pick<LimitStore, 'standing'>;
}

/** The open streams of a process, with one timer for all of them. */
export class EventStreams implements Disposable {
  readonly #store: StreamStore;
  readonly #feed: EventFeed;
  readonly #clock: Clock;
  readonly #parts;
  readonly #open = new Set<EventStream>();
  readonly #byAccount = new Map<number, number>();
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
    return this.#open.size;
  }

  /** Starts behind `after`, or with the next event. Refuses `too_many_streams`, and `events_expired` as the feed does. */
  begin(
    { caller, versions }: Authenticated,
    wanted: Wanted,
    after: bigint | undefined,
  ): Awaitable<EventStream> {
    const begun = after === undefined ? this.#feed.end() : andThen(this.#feed.read(after, 1), () => after);
    return andThen(begun, (from) => {
      const stream = new EventStream(this.#parts, caller, versions.callers, wanted, from);
      this.#enter(stream);
      return stream;
    });
  }

  /** Ends all streams, those that are opened afterwards as well. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const stream of this.#open) stream.end();
  }

  #enter(stream: EventStream): void {
    const { accountId } = stream.caller;
    const open = this.#byAccount.get(accountId) ?? 0;
    if (open >= mostStreams) throw new Refusal('too_many_streams');
    this.#byAccount.set(accountId, open + 1);
    this.#open.add(stream);
    // No refusal, which a browser's EventSource would take for final.
    if (this.#isClosed) return stream.end();
    if (this.#timer !== undefined) return;
    this.#commentAt = this.#clock.steady() + commentEveryMs;
    this.#timer = setInterval(() => this.#look(), checkEveryMs);
    this.#timer.unref();
  }

  #leave(stream: EventStream): void {
    const { accountId } = stream.caller;
    const open = (this.#byAccount.get(accountId) ?? 1) - 1;
    if (open === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, open);
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = this.#clock.steady();
    if (now >= this.#commentAt) {
      this.#commentAt = now + commentEveryMs;
      for (const stream of this.#open) stream.comment();
    }
    if (this.#isChecking) return;
    this.#isChecking = true;
    void this.#check().finally(() => {
      this.#isChecking = false;
    });
  }

  async #check(): Promise<void> {
    const byKey = Map.groupBy(this.#open, ({ caller }) => caller.keyId);
    // While the store is not reached, the streams stay, without events.
    await Promise.allSettled([...byKey.values()].map((streams) => this.#checkKey(streams)));
  }

  /** Ends the streams of a key that was revoked, has expired, is banned, or may not read what they send. */
  async #checkKey(streams: readonly EventStream[]): Promise<void> {
    const { caller } = streams[0] as EventStream;
    const { verdict, versions } = await this.#store.limits.standing(caller);
    const isStale = streams.some(({ callersVersion }) => callersVersion !== versions.callers);
    const current = isStale ? await this.#callerOf(caller.keyId) : caller;
    const isBanned = verdict.refusal === 'api_key_banned';
    for (const stream of streams) {
      if (isBanned || current === undefined || !stream.isFor(current, this.#clock.now())) stream.end();
      else stream.admit(current, versions.callers);
    }
  }

  async #callerOf(keyId: number): Promise<Caller | undefined> {
    const [key] = await this.#store.keys.fingerprints(keyId, 1);
    return key?.id === keyId ? this.#store.keys.findCaller(key.fingerprint) : undefined;
  }
}
