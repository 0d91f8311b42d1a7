/** What a terminal shows while a backup is made, copied or verified. */
import { doing, Progress } from './progress.ts';

const mib = 1_048_576;

/** A size in MiB, to one digit. */
export function size(bytes: number): string {
  return `${(bytes / mib).toLocaleString('en-US', { maximumFractionDigits: 1 })} MiB`;
}

/** How much is written, copied or read, of all that there is as far as that is known. */
export class BytesProgress implements Disposable {
  readonly #noun: string;
  #bar: Progress | undefined;

  constructor(done: 'written' | 'copied' | 'read') {
    this.#noun = `MiB ${done}`;
  }

  update(done: number, total: number): void {
    this.#bar ??= new Progress(this.#noun, total);
    this.#bar.update(done, Math.floor(done / mib));
  }

  [Symbol.dispose](): void {
    this.#bar?.[Symbol.dispose]();
    this.#bar = undefined;
  }
}

/** How much is written, and then that it is checked. */
export class BackupProgress implements Disposable {
  readonly #written = new BytesProgress('written');
  #line: Disposable | undefined;
  #done = 0;

  update(done: number, total: number): void {
    if (this.#line !== undefined) return;
    this.#written.update(done, total);
    if (done > 0 && done === this.#done) {
      this.#written[Symbol.dispose]();
      this.#line = doing('Checking what was written');
    }
    this.#done = done;
  }

  [Symbol.dispose](): void {
    (this.#line ?? this.#written)[Symbol.dispose]();
  }
}
