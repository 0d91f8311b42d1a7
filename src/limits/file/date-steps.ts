import type { ClockSteps } from '../../domain/clock.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import type { RecordLocks } from './record-locks.ts';

/** Steps of the system clock, shared by all processes of the service and kept across restarts. */
export class SharedClockSteps implements ClockSteps {
  readonly #file: LimitFile;
  readonly #locks: RecordLocks | undefined;

  /** Without `locks`, the steps are read-only. */
  constructor(file: LimitFile, locks?: RecordLocks) {
    this.#file = file;
    this.#locks = locks;
  }

  get count(): number {
    return this.#file.i32[header.steps] as number;
  }

  get aheadMs(): number {
    return this.#file.f64[header.aheadMs] as number;
  }

  add(count: number, aheadMs: number): boolean {
    if (this.#locks === undefined) return true;
    this.#locks.acquireOfHeader(header.stepping);
    try {
      if (this.count !== count) return false;
      this.#file.f64[header.aheadMs] = aheadMs;
      Atomics.store(this.#file.i32, header.steps, count + 1);
      this.#file.changed();
      return true;
    } finally {
      this.#locks.release(header.stepping);
    }
  }
}
