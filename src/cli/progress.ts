import { grouped } from './terminal.ts';

const barWidth = 24;
const redrawMs = 100;
const eraseLine = '\r\x1b[2K';

/** How far a long command is, on a terminal only; it leaves no trace when it ends. */
export class Progress implements Disposable {
  readonly #noun: string;
  readonly #total: number | undefined;
  readonly #visible: boolean;
  readonly #startedAt = performance.now();
  #drawnAt = 0;

  /** `total` is in the unit of `update`'s `done`; undefined when nobody knows it. */
  constructor(noun: string, total: number | undefined, visible = process.stderr.isTTY === true) {
    this.#noun = noun;
    this.#total = total;
    this.#visible = visible;
  }

  /** `done` of the total is done, by the time `count` things have been dealt with. */
  update(done: number, count: number): void {
    const now = performance.now();
    if (!this.#visible || now - this.#drawnAt < redrawMs) return;
    this.#drawnAt = now;
    const seconds = (now - this.#startedAt) / 1_000;
    const rate = `${grouped(count)} ${this.#noun}, ${grouped(Math.round(count / seconds))} a second`;
    process.stderr.write(`${eraseLine}${this.#bar(done, seconds)}${rate}`);
  }

  [Symbol.dispose](): void {
    if (this.#drawnAt > 0) process.stderr.write(eraseLine);
  }

  #bar(done: number, seconds: number): string {
    if (this.#total === undefined || this.#total === 0) return '';
    const part = Math.min(1, done / this.#total);
    const full = Math.round(part * barWidth);
    const bar = '█'.repeat(full) + '░'.repeat(barWidth - full);
    const left = part === 0 ? '' : `, ${remaining((seconds / part) * (1 - part))} left`;
    return `${bar} ${String(Math.floor(part * 100)).padStart(3)} %${left}   `;
  }
}

function remaining(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
