import { grouped } from './terminal.ts';

/** The bar's width where the terminal has room for the whole line, and where it has not. */
const [wideBar, narrowBar] = [24, 10];
const usualColumns = 80;
const redrawMs = 100;
const eraseLine = '\r\x1b[2K';

interface Moment {
  readonly at: number;
  readonly done: number;
  readonly count: number;
}

interface Terminal {
  /** Undefined for a terminal that does not report its width. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

interface ProgressOptions {
  /** Whether it is shown at all: on a terminal only, unless said otherwise. */
  readonly visible?: boolean;
  readonly terminal?: Terminal;
  readonly now?: () => number;
}

/** How far a long command is: shown as soon as it begins, and without a trace when it ends. */
export class Progress implements Disposable {
  readonly #noun: string;
  readonly #total: number | undefined;
  readonly #visible: boolean;
  readonly #terminal: Terminal;
  readonly #now: () => number;
  /** Rates are taken from here, so that what was done before this run does not count. */
  #first: Moment | undefined;
  #drawnAt: number;

  /** `total` is in the unit of `update`'s `done`; undefined when nobody knows it. */
  constructor(
    noun: string,
    total: number | undefined,
    {
      visible = process.stderr.isTTY === true,
      terminal = process.stderr,
      now = () => performance.now(),
    }: ProgressOptions = {},
  ) {
    this.#noun = noun;
    this.#total = total;
    this.#visible = visible;
    this.#terminal = terminal;
    this.#now = now;
    this.#drawnAt = now();
    this.#draw(0, 0, []);
  }

  /** `done` of the total is done, by the time `count` things have been dealt with. */
  update(done: number, count: number): void {
    const now = { at: this.#now(), done, count };
    this.#first ??= now;
    if (now.at - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now.at;
    this.#draw(done, count, rates(this.#first, now, this.#total));
  }

  [Symbol.dispose](): void {
    if (this.#visible) this.#terminal.write(eraseLine);
  }

  #draw(done: number, count: number, [rate, left]: readonly string[]): void {
    if (!this.#visible) return;
    const counted = `${grouped(count)} ${this.#noun}`;
    const lines = [
      [this.#bar(done, wideBar), counted, rate, left],
      [this.#bar(done, narrowBar), counted, rate, left],
      [this.#bar(done, narrowBar), counted, left],
      [this.#bar(done, narrowBar), counted],
    ].map((parts) => parts.filter(Boolean).join('  '));
    // A line that fills the last column is broken by some terminals, and would not be erased whole.
    const fits = (line: string) => line.length < (this.#terminal.columns || usualColumns);
    this.#terminal.write(eraseLine + (lines.find(fits) ?? counted));
  }

  #bar(done: number, width: number): string {
    if (this.#total === undefined || this.#total === 0) return '';
    const part = Math.min(1, done / this.#total);
    const full = Math.round(part * width);
    return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${Math.floor(part * 100)} %`;
  }
}

/** Says on a terminal what is being done that nobody knows the length of; without a trace when it ends. */
export function doing(what: string): Disposable {
  const isVisible = process.stderr.isTTY === true;
  if (isVisible) process.stderr.write(`${what} …`);
  return { [Symbol.dispose]: () => void (isVisible && process.stderr.write(eraseLine)) };
}

/** How many things a second, and how long the rest takes at this rate. */
function rates(first: Moment, now: Moment, total: number | undefined): string[] {
  const seconds = (now.at - first.at) / 1_000;
  if (seconds === 0 || now.done === first.done) return [];
  const rate = `${grouped(Math.round((now.count - first.count) / seconds))}/s`;
  if (total === undefined) return [rate];
  const left = ((total - now.done) / (now.done - first.done)) * seconds;
  return [rate, `${remaining(Math.max(0, left))} left`];
}

function remaining(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const mib = 1_048_576;

export function mebibytes(bytes: number): string {
  return `${(bytes / mib).toLocaleString('en-US', { maximumFractionDigits: 1 })} MiB`;
}

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
