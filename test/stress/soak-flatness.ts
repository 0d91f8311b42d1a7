import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from './stress-test.ts';

/** Samples of this first part are warming up: caches fill, code is compiled. */
const warmUpPart = 0.2;
/** How far the median memory of the last part may be above that of the first after warming up. */
const mostGrowth = 0.1;
const partOfSamples = 0.2;
/** Descriptors that differ by chance: a file the runtime happens to have open. */
const descriptorSlack = 3;
const calmMs = 3_000;

/** Memory and descriptors of a process over time (Linux). */
export class Flatness {
  readonly #pid: number;
  readonly #descriptorsBefore: number;
  readonly #residentMiB: number[] = [];

  constructor(pid: number) {
    this.#pid = pid;
    this.#descriptorsBefore = this.#descriptors();
  }

  get last(): string {
    return `${this.#residentMiB.at(-1)} MiB`;
  }

  sample(): void {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8');
    this.#residentMiB.push(Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024));
  }

  /** When the load is gone. Throws if anything grew. */
  async end(): Promise<Figures> {
    await sleep(calmMs);
    const samples = this.#residentMiB.slice(Math.floor(this.#residentMiB.length * warmUpPart));
    const part = Math.ceil(samples.length * partOfSamples);
    const [first, last] = [median(samples.slice(0, part)), median(samples.slice(-part))];
    const descriptors = this.#descriptors();
    const figures = {
      'MiB at first': first,
      'MiB at last': last,
      'MiB at most': Math.max(...this.#residentMiB),
      'descriptors before': this.#descriptorsBefore,
      'descriptors after': descriptors,
    };
    const grew = last > first * (1 + mostGrowth) || descriptors > this.#descriptorsBefore + descriptorSlack;
    if (grew)
      throw new Error(`It grew: ${JSON.stringify(figures)}; MiB by second: ${this.#residentMiB.join(' ')}`);
    return figures;
  }

  #descriptors(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length;
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
