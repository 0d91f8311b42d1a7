import { formatInteger } from './terminal.ts';

/** Width of the progress bar, on wide and on narrow terminals. */
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
  /** Undefined if the terminal does not report its width. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

interface ProgressOptions {
  /** Whether progress is shown. Defaults to whether standard error is a terminal. */
  readonly visible?: boolean;
  readonly terminal?: Terminal;
  readonly now?: () => number;
}

/** Progress of a long command. Shown when the command starts, cleared when it ends. */
export class Progress implements Disposable {
  readonly #noun: string;
  readonly #total: number | undefined;
  readonly #visible: boolean;
  readonly #terminal: Terminal;
  readonly #now: () => number;
  /** The first update. Rates are measured from this update, to exclude work done in earlier runs. */
  #first: Moment | undefined;
  #drawnAt: number;

  /** `total` has the same unit as `done` in `update`; undefined if unknown. */
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

  /** Shows `done` out of the total, and `count` processed items. */
  update(done: number, count: number): void {
    const now = { at: this.#now(), done, count };
    this.#first ??= now;
    if (now.at - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now.at;
    this.#draw(done, count, formatRates(this.#first, now, this.#total));
  }

  [Symbol.dispose](): void {
    if (this.#visible) this.#terminal.write(eraseLine);
  }

  #draw(done: number, count: number, [rate, left]: readonly string[]): void {
    if (!this.#visible) return;
    const counted = `${formatInteger(count)} ${this.#noun}`;
    const lines = [
      [this.#bar(done, wideBar), counted, rate, left],
      [this.#bar(done, narrowBar), counted, rate, left],
      [this.#bar(done, narrowBar), counted, left],
      [this.#bar(done, narrowBar), counted],
    ].map((parts) => parts.filter(Boolean).join('  '));
    // Leaves the last column empty, because some terminals wrap full lines, and a wrapped line cannot be erased.
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

/** Shows an activity of unknown duration on a terminal, and clears the line when it ends. */
export function showActivity(what: string): Disposable {
  const isVisible = process.stderr.isTTY === true;
  if (isVisible) process.stderr.write(`${what} …`);
  return { [Symbol.dispose]: () => void (isVisible && process.stderr.write(eraseLine)) };
}

/** Returns the rate per second and the remaining time at this rate. */
function formatRates(first: Moment, now: Moment, total: number | undefined): string[] {
  const seconds = (now.at - first.at) / 1_000;
  if (seconds === 0 || now.done === first.done) return [];
  const rate = `${formatInteger(Math.round((now.count - first.count) / seconds))}/s`;
  if (total === undefined) return [rate];
  const left = ((total - now.done) / (now.done - first.done)) * seconds;
  return [rate, `${formatRemaining(Math.max(0, left))} left`];
}

function formatRemaining(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const bytesPerMib = 1_048_576;

export class BytesProgress implements Disposable {
  readonly #noun: string;
  #bar: Progress | undefined;

  constructor(done: 'written' | 'copied' | 'read') {
    this.#noun = `MiB ${done}`;
  }

  update(done: number, total: number): void {
    this.#bar ??= new Progress(this.#noun, total);
    this.#bar.update(done, Math.floor(done / bytesPerMib));
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
      this.#line = showActivity('Verifying the backup');
    }
    this.#done = done;
  }

  [Symbol.dispose](): void {
    (this.#line ?? this.#written)[Symbol.dispose]();
  }
}
