import { fatalTroubles } from '../../domain/troubles.ts';
import { maxWorkers } from '../../domain/workers.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/**
 * Number of attempts without a pause. Later attempts are a millisecond apart: a lock is held for less than a
 * microsecond, unless its holder is suspended.
 */
const spins = 1_000;
const maxWaitMs = 1_000;

/**
 * Locks in a mapped file. A lock is a word that contains the owner number of the process holding it. The supervisor
 * frees the locks of a killed process (`freeLocksOf`). When the service starts, all locks become free, because the
 * service assigns new owner numbers.
 */
export class RecordLocks {
  readonly #file: LimitFile;
  readonly #owner: number;
  /** First owner number assigned since the service started. A lock with a lower owner number is free. */
  readonly #firstOwner: number;
  /** Position where this process announces the lock that it is about to acquire. */
  readonly #announced: number;
  /** A lock that could not be acquired, and its holder. Later requests do not wait for this lock. */
  #stuckWord = 0;
  #stuckOwner = 0;

  /** `worker` is a number up to `maxWorkers`, unique among the service's processes. */
  constructor(file: LimitFile, worker: number) {
    if (worker < 0 || worker > maxWorkers) throw new RangeError(`There is no worker ${worker}.`);
    this.#file = file;
    // The previous process with this number has exited.
    this.freeLocksOf(worker);
    this.#owner = Atomics.add(file.i32, header.nextOwner, 1);
    this.#firstOwner = file.i32[header.firstOwner] as number;
    const place = header.workers + 2 * worker;
    this.#announced = place + 1;
    file.i32[place] = this.#owner;
    file.i32[place + 1] = 0;
  }

  /** Acquires a record's lock. Throws `StorageUnavailable` after about a second. */
  acquire(word: number): void {
    const { i32 } = this.#file;
    // Announced first, so that a supervisor can free the lock if this process is killed.
    i32[this.#announced] = word;
    this.acquireOfHeader(word);
  }

  /** Acquires a lock in the header. A process may hold this lock and the lock of a record at the same time. */
  acquireOfHeader(word: number): void {
    const { i32 } = this.#file;
    if (i32[header.firstOwner] !== this.#firstOwner)
      throw new StorageUnavailable(fatalTroubles.limitsOverwritten);
    if (Atomics.compareExchange(i32, word, 0, this.#owner) !== 0) this.#wait(word);
  }

  release(word: number): void {
    Atomics.store(this.#file.i32, word, 0);
  }

  /** Frees the locks of the last process with this number, which must have exited. */
  freeLocksOf(worker: number): void {
    const { i32 } = this.#file;
    const place = header.workers + 2 * worker;
    const owner = i32[place] as number;
    const announced = i32[place + 1] as number;
    if (owner === 0) return;
    for (const word of [announced, header.growing, header.stepping]) {
      if (this.#file.mapWord(word)) Atomics.compareExchange(this.#file.i32, word, owner, 0);
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
