import { eventFrame, type StoreEvent } from '../../contract/events.ts';
import type { Caller } from '../../storage/storage.ts';
import { isWanted, type Wanted } from './feed.ts';

/** Length at which a chunk is complete, in UTF-16 code units. Limits how much data is sent to a slow reader at once. */
const chunkLength = 65_536;

/** The filter of a stream: event types and account. */
export interface Filter {
  readonly wanted: Wanted;
  /** The selected types as text, for use as a map key. */
  readonly types: string;
  readonly caller: Pick<Caller, 'keyId' | 'accountId'>;
}

/** Encodes the selected events as server-sent events, in chunks that contain only whole events. */
export function chunksOf(events: readonly StoreEvent[], wanted: Wanted): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let text = '';
  for (const event of events) {
    if (!isWanted(event, wanted)) continue;
    text += eventFrame(event);
    if (text.length < chunkLength) continue;
    chunks.push(Buffer.from(text));
    text = '';
  }
  if (text !== '') chunks.push(Buffer.from(text));
  return chunks;
}

/** Encodes a batch only once for all streams with the same filter. */
export class SharedFrames {
  #batch: readonly StoreEvent[] = [];
  #isShared = true;
  readonly #chunks = new Map<string, readonly Uint8Array[]>();

  of(batch: readonly StoreEvent[], { wanted, types }: Filter): readonly Uint8Array[] {
    if (batch !== this.#batch) {
      this.#batch = batch;
      this.#isShared = batch.every(({ accountId }) => accountId === null);
      this.#chunks.clear();
    }
    const key = this.#isShared ? types : `${types} ${wanted.accountId}`;
    const known = this.#chunks.get(key);
    if (known !== undefined) return known;
    const chunks = chunksOf(batch, wanted);
    this.#chunks.set(key, chunks);
    return chunks;
  }
}
