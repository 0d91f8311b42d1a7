import { limitsOverwritten } from '../../../domain/trouble.ts';
import { mostWorkers } from '../../../domain/workers.ts';
import { StorageUnavailable } from '../../storage.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/** A lock is held for less than a microsecond, unless its holder is not running: then it is waited for by the millisecond. */
const spins = 1_000;
const mostWaitsMs = 1_000;

/**
 * Locks in a mapped file: words that have the number of the process that holds them. A process that is killed leaves
 * its lock behind. Who supervises it frees that (`freeLocksOf`); after a start of the service all are free, for every
 * start begins with owner numbers that no earlier process had.
 */
export class RecordLocks {
  readonly #file: LimitFile;
  readonly #owner: number;
  /** Another value is that of another start of the service, or noise. */
  readonly #firstOwner: number;
  /** Where this process says which lock it is about to take. */
  readonly #announced: number;
  /** The lock that was waited for in vain, and who held it: it is not waited for again. */
  #stuck = 0;
  #stuckOwner = 0;

  /** `worker` is a number up to `mostWorkers` that no other process has at the time. */
  constructor(file: LimitFile, worker: number) {
    if (worker < 0 || worker > mostWorkers) throw new RangeError(`There is no worker ${worker}.`);
    this.#file = file;
    // Who had the number has ended; it is not waited for.
    this.freeLocksOf(worker);
    this.#owner = Atomics.add(file.i32, header.nextOwner, 1);
    this.#firstOwner = file.i32[header.firstOwner] as number;
    const place = header.workers + 2 * worker;
    this.#announced = place + 1;
    file.i32[place] = this.#owner;
    file.i32[place + 1] = 0;
  }

  /** Takes the lock of a record. Throws `StorageUnavailable` when it is not had in about a second. */
  acquire(word: number): void {
    const { i32 } = this.#file;
    // Whatever instruction this process is killed at, what it may hold is known.
    i32[this.#announced] = word;
    this.acquireOfHeader(word);
  }

  /** Takes one of the header's own locks; one may be had besides that of a record. */
  acquireOfHeader(word: number): void {
    const { i32 } = this.#file;
    if (i32[header.firstOwner] !== this.#firstOwner) throw new StorageUnavailable(limitsOverwritten);
    if (Atomics.compareExchange(i32, word, 0, this.#owner) !== 0) this.#wait(word);
  }

  release(word: number): void {
    Atomics.store(this.#file.i32, word, 0);
  }

  /** Frees what the last process with this number held. It must have ended. */
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
    for (let attempt = 0; attempt < spins + mostWaitsMs; attempt++) {
      const { i32 } = this.#file;
      const holder = Atomics.load(i32, word);
      const isFree =
        holder < (i32[header.firstOwner] as number) || holder >= (i32[header.nextOwner] as number);
      if (isFree && Atomics.compareExchange(i32, word, holder, this.#owner) === holder) return;
      if (attempt < spins || isFree) continue;
      if (word === this.#stuck && holder === this.#stuckOwner) break;
      Bun.sleepSync(1);
      if (attempt < spins + mostWaitsMs - 1) continue;
      this.#stuck = word;
      this.#stuckOwner = holder;
    }
    throw new StorageUnavailable('the limit state of the caller is locked by another process');
  }
}
