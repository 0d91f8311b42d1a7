/**
 * Models a disk with a volatile cache. Synced data survives a power loss. Other data may survive, be lost or be torn.
 */
import { type Event, folderItself } from './recording.ts';
import { sectorsOf } from './sectors.ts';

/** How a power loss affects unsynced data. */
export type Loss = 'all lost' | 'none lost' | 'some lost' | 'torn';
export const losses: readonly Loss[] = ['all lost', 'none lost', 'some lost', 'torn'];

type Change = Extract<Event, { kind: 'write' | 'truncate' }>;

/** The contents of one file, separate from the file's name. A name may be removed while the contents remain. */
class Contents {
  synced: Buffer;
  pending: Change[] = [];

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.synced = bytes;
  }

  sync(): void {
    this.synced = applied(this.synced, this.pending);
    this.pending = [];
  }

  afterLoss(loss: Loss, random: () => number): Buffer {
    const kept = this.pending.flatMap((change) => {
      if (loss === 'torn') return partsOf(change).filter(() => random() < 0.5);
      return loss === 'none lost' || (loss === 'some lost' && random() < 0.5) ? [change] : [];
    });
    return applied(this.synced, kept);
  }
}

/** A file name that was added, or removed if `contents` is undefined. After a rename, `from` is the old name. */
type Naming = {
  readonly path: string;
  readonly contents: Contents | undefined;
  readonly from?: string;
};

export class Disk {
  readonly #names = new Map<string, Contents>();
  readonly #syncedNames = new Map<string, Contents>();
  /** Names added and removed since the folder was last synced. */
  #namings: Naming[] = [];

  /** `files` are already synced. */
  constructor(files: ReadonlyMap<string, Buffer>) {
    for (const [path, bytes] of files) {
      const contents = new Contents(Buffer.from(bytes));
      for (const names of [this.#names, this.#syncedNames]) names.set(path, contents);
    }
  }

  /** True if a power loss has more than one possible outcome. */
  get hasPending(): boolean {
    return this.#namings.length > 0 || [...this.#names.values()].some(({ pending }) => pending.length > 0);
  }

  apply(event: Exclude<Event, { kind: 'answer' }>): void {
    const { kind, path } = event;
    const contents = this.#names.get(path);
    if (kind === 'write' || kind === 'truncate') contents?.pending.push(event);
    else if (kind === 'mapped') {
      for (const sector of event.sectors) contents?.pending.push({ kind: 'write', path, ...sector });
    } else if (kind === 'unlink') this.#name(path, undefined);
    else if (kind === 'rename') this.#name(event.to, contents, path);
    else if (kind === 'create' && contents === undefined) this.#name(path, new Contents());
    else if (kind === 'sync' && path === folderItself) this.#syncNames();
    else if (kind === 'sync') contents?.sync();
  }

  /** Returns the files that remain after a power loss. */
  afterLoss(loss: Loss, random: () => number): Map<string, Buffer> {
    const names = new Map(this.#syncedNames);
    // File systems journal name changes in order, so a prefix of the changes survives.
    const kept =
      loss === 'none lost' ? this.#namings.length : Math.floor(random() * (this.#namings.length + 1));
    for (const naming of this.#namings.slice(0, loss === 'all lost' ? 0 : kept)) applyNaming(names, naming);
    return new Map([...names].map(([path, contents]) => [path, contents.afterLoss(loss, random)]));
  }

  #name(path: string, contents: Contents | undefined, from?: string): void {
    const naming = { path, contents, ...(from !== undefined && { from }) };
    applyNaming(this.#names, naming);
    this.#namings.push(naming);
  }

  #syncNames(): void {
    for (const naming of this.#namings) applyNaming(this.#syncedNames, naming);
    this.#namings = [];
  }
}

function applyNaming(names: Map<string, Contents>, { path, contents, from }: Naming): void {
  if (from !== undefined) names.delete(from);
  if (contents === undefined) names.delete(path);
  else names.set(path, contents);
}

/** Returns a copy of the bytes with the changes applied. */
function applied(bytes: Buffer, changes: readonly Change[]): Buffer {
  const endOf = (change: Change) =>
    change.kind === 'truncate' ? change.size : change.offset + change.data.length;
  const result = Buffer.alloc(changes.reduce((most, change) => Math.max(most, endOf(change)), bytes.length));
  bytes.copy(result);
  let size = bytes.length;
  for (const change of changes) {
    if (change.kind === 'truncate') {
      // When a file grows, the added bytes are zeros.
      if (change.size < size) result.fill(0, change.size, size);
      size = change.size;
    } else {
      result.set(change.data, change.offset);
      size = Math.max(size, endOf(change));
    }
  }
  return result.subarray(0, size);
}

/** The parts of a change that a disk may write separately. */
function partsOf(change: Change): Change[] {
  return change.kind === 'truncate'
    ? [change]
    : sectorsOf(change).map((sector) => ({ ...change, ...sector }));
}
