import { eventFrame, reconnectAfterMs } from '../../contract/events.ts';
import type { StreamSink, StreamSource } from '../../contract/operation.ts';
import type { EventRepresentation } from '../../contract/representations.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Scope } from '../../domain/scope.ts';
import { canReadAll, type EventFeed, type EventFilter, matchesFilter } from './feed.ts';
import type { EventReader } from './key-watch.ts';
import type { Listener } from './tail.ts';

/** Length at which a chunk is complete, in UTF-16 code units. Limits how much data is sent to a slow reader at once. */
const chunkLength = 65_536;

/** The filter of a stream: event types and account. */
export interface StreamFilter {
  readonly eventFilter: EventFilter;
  /** The selected types as text, for use as a map key. */
  readonly types: string;
  readonly caller: Pick<Caller, 'keyId' | 'accountId'>;
}

/** Encodes the selected events as server-sent events, in chunks that contain only whole events. */
function encodeChunks(events: readonly EventRepresentation[], eventFilter: EventFilter): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let text = '';
  for (const event of events) {
    if (!matchesFilter(event, eventFilter)) continue;
    text += eventFrame(event);
    if (text.length < chunkLength) continue;
    chunks.push(Buffer.from(text));
    text = '';
  }
  if (text !== '') chunks.push(Buffer.from(text));
  return chunks;
}

/** Encodes a batch only once for all streams with the same filter. */
export class SharedEncoder {
  #batch: readonly EventRepresentation[] = [];
  #isShared = true;
  readonly #chunks = new Map<string, readonly Uint8Array[]>();

  encode(batch: readonly EventRepresentation[], { eventFilter, types }: StreamFilter): readonly Uint8Array[] {
    if (batch !== this.#batch) {
      this.#batch = batch;
      this.#isShared = batch.every(({ accountId }) => accountId === null);
      this.#chunks.clear();
    }
    const key = this.#isShared ? types : `${types} ${eventFilter.accountId}`;
    const known = this.#chunks.get(key);
    if (known !== undefined) return known;
    const chunks = encodeChunks(batch, eventFilter);
    this.#chunks.set(key, chunks);
    return chunks;
  }
}

/**
 * Maximum number of bytes that a reader may lag behind. Corresponds to fewer than 10,000 events, because an event takes
 * more than 105 bytes.
 */
const maxBufferedBytes = 1_048_576;
/** Number of events in the first read, which may cost as much as a page. */
const firstBatch = 100;
/** Number of events in each later read. */
const laterBatch = 500;

const beginning = Buffer.from(`retry: ${reconnectAfterMs}\n\n`);
const comment = Buffer.from(':\n\n');

/** Dependencies shared by the streams of a process. */
interface StreamDependencies {
  readonly feed: EventFeed;
  readonly frames: SharedEncoder;
  readonly ended: (stream: EventStream) => void;
}

/** The selected events of a read, as server-sent events. */
interface Batch {
  readonly chunks: readonly Uint8Array[];
  readonly last: bigint;
  readonly isEnd: boolean;
}

/** An event stream to one reader. Contains no timer and no closure, so that thousands of idle streams are cheap. */
export class EventStream implements StreamSource, Listener, EventReader {
  readonly type = 'direct';
  readonly until = Number.POSITIVE_INFINITY;
  readonly filter: StreamFilter;
  connection: Disposable | undefined;
  readonly #dependencies: StreamDependencies;
  /** Id of the last event read from the store. */
  #after: bigint;
  #sink: StreamSink | undefined;
  /** Number of bytes written since the connection stopped accepting data. */
  #behindBytes = 0;
  #hasEnded = false;

  constructor(dependencies: StreamDependencies, filter: StreamFilter, after: bigint) {
    this.#dependencies = dependencies;
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

  receive(events: readonly EventRepresentation[]): void {
    for (const chunk of this.#dependencies.frames.encode(events, this.filter)) {
      if (this.#behindBytes > maxBufferedBytes) this.end();
      else this.#write(chunk);
    }
  }

  comment(): void {
    this.#write(comment);
  }

  isAllowed(scopes: ReadonlySet<Scope>): boolean {
    return canReadAll(scopes, this.filter.eventFilter);
  }

  onAccessLost(): void {
    this.end();
  }

  /**
   * Ends the stream once the data already written has been sent. A reader that lags behind is disconnected, because it
   * might never accept the rest.
   */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#dependencies.feed.tail.leave(this);
    this.#dependencies.ended(this);
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

  /**
   * Sends stored events as fast as the reader accepts them, up to the newest event, then joins the tail. The first read
   * is not paced, because it is counted as a request, like that of a page; most readers that have just reconnected need no
   * other. Later reads are paced.
   */
  async #catchUp(): Promise<void> {
    const { feed } = this.#dependencies;
    const { accountId } = this.filter.caller;
    try {
      let batch: Batch | undefined = await this.#readBatch(firstBatch);
      while (batch !== undefined && !this.#hasEnded) {
        // Writes outside the pacer's turn, so that a slow reader does not delay other streams.
        for (const chunk of batch.chunks) await this.#write(chunk);
        this.#after = batch.last;
        if (batch.isEnd && (this.#hasEnded || feed.tail.listen(batch.last, this))) return;
        batch = await feed.catchUpPacer.take(accountId, () => this.#readBatch(laterBatch));
      }
    } catch {
      // The events have expired, or the store is unreachable. The reader learns the reason when it reconnects.
      this.end();
    }
  }

  async #readBatch(limit: number): Promise<Batch> {
    // The stream may have ended before its turn.
    if (this.#hasEnded) return { chunks: [], last: this.#after, isEnd: true };
    const { events, last, isEnd } = await this.#dependencies.feed.read(this.#after, limit);
    return { chunks: encodeChunks(events, this.filter.eventFilter), last, isEnd };
  }
}
