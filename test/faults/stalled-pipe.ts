import { closeSync, constants, openSync, readlinkSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/wait.ts';

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

/** A named pipe whose only reader is the test. */
export class StalledPipe implements Disposable {
  readonly path: string;
  #end: number | undefined;

  /** With `isReader`, closing this end leaves the pipe without a reader. */
  constructor(folder: string, isReader = false) {
    this.path = join(folder, 'output');
    const { exitCode, stderr } = Bun.spawnSync(['mkfifo', this.path]);
    if (exitCode !== 0) throw new Error(`mkfifo failed: ${stderr}`);
    this.#end = openSync(this.path, (isReader ? O_RDONLY : O_RDWR) | O_NONBLOCK);
  }

  /** Fills the pipe, so that the next write to it blocks. */
  fill(): void {
    for (const bytes of [4_096, 1]) {
      while (this.#transferred((end) => writeSync(end, Buffer.alloc(bytes, '\n'))) > 0);
    }
  }

  /** Reads what is in the pipe. */
  read(): string {
    const chunk = Buffer.alloc(65_536);
    let text = '';
    for (;;) {
      const bytes = this.#transferred((end) => readSync(end, chunk, 0, chunk.length, null));
      if (bytes === 0) return text;
      text += chunk.toString('utf8', 0, bytes);
    }
  }

  /** Reads until the text matches. */
  async said(text: RegExp, before = ''): Promise<string> {
    let all = before;
    await until(() => {
      all += this.read();
      return text.test(all);
    });
    return all;
  }

  /** Closes the reading end as soon as the process has opened the other one. */
  async closeAfter(pid: number): Promise<void> {
    await until(() => readlinkSync(`/proc/${pid}/fd/2`) === this.path);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#end !== undefined) closeSync(this.#end);
    this.#end = undefined;
  }

  #transferred(transfer: (end: number) => number): number {
    if (this.#end === undefined) return 0;
    try {
      return transfer(this.#end);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      throw error;
    }
  }
}
