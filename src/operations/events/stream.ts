import { setImmediate as nextTurn } from 'node:timers/promises';
import { reconnectAfterMs, type StoreEvent } from '../../contract/events.ts';
import type { StreamSink, StreamSource } from '../../contract/operation.ts';
import type { Scope } from '../../domain/scope.ts';
import { type EventFeed, mayReadAll } from './feed.ts';
import { chunksOf, type Filter, type SharedFrames } from './frames.ts';
import type { Reader } from './key-watch.ts';
import type { Listener } from './tail.ts';

/**
 * Maximum number of bytes that a reader may lag behind. Corresponds to fewer than 10,000 events, because an event takes
 * more than 105 bytes.
 */
const maxBufferedBytes = 1_048_576;
/** Number of events per read while a stream is catching up. */
const readBatch = 500;

const beginning = Buffer.from(`retry: ${reconnectAfterMs}\n\n`);
const comment = Buffer.from(':\n\n');

/** Dependencies shared by the streams of a process. */
export interface StreamParts {
  readonly feed: EventFeed;
  readonly frames: SharedFrames;
  readonly ended: (stream: EventStream) => void;
}

/** An event stream to one reader. Contains no timer and no closure, so that thousands of idle streams are cheap. */
export class EventStream implements StreamSource, Listener, Reader {
  readonly type = 'direct';
  readonly until = Number.POSITIVE_INFINITY;
  readonly filter: Filter;
  connection: Disposable | undefined;
  readonly #parts: StreamParts;
  /** Id of the last event read from the store. */
  #after: bigint;
  #sink: StreamSink | undefined;
  /** Number of bytes written since the connection stopped accepting data. */
  #behindBytes = 0;
  #hasEnded = false;

  constructor(parts: StreamParts, filter: Filter, after: bigint) {
    this.#parts = parts;
    this.filter = filter;
    this.#after = after;
  }

  pull(sink: StreamSink): void {
    this.#sink = sink;
    if (this.#hasEnded) {
      sink.end();
      return;
    }
    this.#write(beginning);
    void this.#catchUp();
  }

  cancel(): void {
    this.#sink = undefined;
    this.end();
  }

  take(events: readonly StoreEvent[]): void {
    for (const chunk of this.#parts.frames.of(events, this.filter)) {
      if (this.#behindBytes > maxBufferedBytes) this.end();
      else this.#write(chunk);
    }
  }

  comment(): void {
    this.#write(comment);
  }

  isAllowed(scopes: ReadonlySet<Scope>): boolean {
    return mayReadAll(scopes, this.filter.wanted);
  }

  lose(): void {
    this.end();
  }

  /**
   * Ends the stream once the data already written has been sent. A reader that lags behind is disconnected, because it
   * might never accept the rest.
   */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#parts.feed.tail.leave(this);
    this.#parts.ended(this);
    this.connection?.[Symbol.dispose]();
    const sink = this.#sink;
    this.#sink = undefined;
    if (this.#behindBytes > 0) sink?.close(new Error('the reader is behind'));
    else sink?.end();
  }

  /** Returns a promise that resolves when the reader has received everything; undefined if it already has. */
  #write(bytes: Uint8Array): Promise<unknown> | undefined {
    const sink = this.#sink;
    if (sink === undefined) return undefined;
    const written: unknown = sink.write(bytes);
    sink.flush();
    if (!(written instanceof Promise)) return undefined;
    const isFirst = this.#behindBytes === 0;
    this.#behindBytes += bytes.length;
    if (!isFirst) return written;
    // The promises of all pending writes resolve at the same time.
    const taken = () => {
      this.#behindBytes = 0;
    };
    return written.then(taken, taken);
  }

  /** Sends stored events as fast as the reader accepts them, up to the newest event, then joins the tail. */
  async #catchUp(): Promise<void> {
    const { feed } = this.#parts;
    try {
      while (!this.#hasEnded) {
        const { events, last, isEnd } = await feed.read(this.#after, readBatch);
        for (const chunk of chunksOf(events, this.filter.wanted)) await this.#write(chunk);
        this.#after = last;
        if (isEnd && (this.#hasEnded || feed.tail.listen(last, this))) return;
        await nextTurn();
      }
    } catch {
      // The events have expired, or the store is unreachable. The reader learns the reason when it reconnects.
      this.end();
    }
  }
}
