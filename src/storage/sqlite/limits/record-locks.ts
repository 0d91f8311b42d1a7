import { limitsOverwritten } from '../../../domain/trouble.ts';
import { maxWorkers } from '../../../domain/workers.ts';
import { StorageUnavailable } from '../../storage.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/**
 * Number of attempts without a pause. A lock is held for less than a microsecond unless its holder is suspended, so
 * later attempts wait a millisecond each.
 */
const spins = 1_000;
const maxWaitMs = 1_000;

/**
 * Locks in a mapped file: words with the owner number of the process that holds them. The supervisor frees the locks of
 * a killed process (`freeLocksOf`). A start of the service frees all, because it begins with new owner numbers.
 */
export class RecordLocks {
  readonly #file: LimitFile;
  readonly #owner: number;
  /** A lock with a value outside this start's owner numbers is free. */
  readonly #firstOwner: number;
  /** Position where this process announces the lock that it will acquire. */
  readonly #announced: number;
  /** A lock that could not be acquired, and its holder. Further requests do not wait for it. */
  #stuckWord = 0;
  #stuckOwner = 0;

  /** `worker` is a number up to `maxWorkers` that no other process has. */
  constructor(file: LimitFile, worker: number) {
    if (worker < 0 || worker > maxWorkers) throw new RangeError(`There is no worker ${worker}.`);
    this.#file = file;
    // The last process with this number has ended.
    this.freeLocksOf(worker);
    this.#owner = Atomics.add(file.i32, header.nextOwner, 1);
    this.#firstOwner = file.i32[header.firstOwner] as number;
    const place = header.workers + 2 * worker;
    this.#announced = place + 1;
    file.i32[place] = this.#owner;
    file.i32[place + 1] = 0;
  }

  /** Acquires the lock of a record. Throws `StorageUnavailable` after about a second. */
  acquire(word: number): void {
    const { i32 } = this.#file;
    // Announced first, so that a supervisor can free the lock if this process is killed.
    i32[this.#announced] = word;
    this.acquireOfHeader(word);
  }

  /** Acquires a lock of the header. A process may hold it together with the lock of a record. */
  acquireOfHeader(word: number): void {
    const { i32 } = this.#file;
    if (i32[header.firstOwner] !== this.#firstOwner) throw new StorageUnavailable(limitsOverwritten);
    if (Atomics.compareExchange(i32, word, 0, this.#owner) !== 0) this.#wait(word);
  }

  release(word: number): void {
    Atomics.store(this.#file.i32, word, 0);
  }

  /** Frees the locks of the last process with this number, which must have ended. */
  freeLocksOf(worker: number): void {
    const { i32 } = this.#file;
    const place = header.workers + 2 * worker;
    const owner = i32[place] as number;
    const announced = i32[place + 1] as number;
    if (owner === 0) return;
    for (const word of [announced, header.growing, header.stepping]) {
      if (this.#file.hasWord(word)) Atomics.compareExchange(this.#file.i32, word, owner, 0);
    }
  }

  #wait(word: number): void {
    for (let attempt = 0; attempt < spins + maxWaitMs; attempt++) {
      const { i32 } = this.#file;
      const holder = Atomics.load(i32, word);
      const isFree =
        holder < (i32[header.firstOwner] as number) || holder >= (i32[header.nextOwner] as number);
      if (isFree && Atomics.compareExchange(i32, word, holder, this.#owner) === holder) return;
      if (attempt < spins || isFree) continue;
      if (word === this.#stuckWord && holder === this.#stuckOwner) break;
      Bun.sleepSync(1);
      if (attempt < spins + maxWaitMs - 1) continue;
      this.#stuckWord = word;
      this.#stuckOwner = holder;
    }
    throw new StorageUnavailable('the limit state of the caller is locked by another process');
  }
}
