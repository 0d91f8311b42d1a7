/** Number of failures printed in full. Additional failures are only counted. */
const most = 10;

/** The failures of a stress test, each with the case that reproduces it. */
export class Failures {
  readonly #seed: number;
  readonly #reported: string[] = [];
  count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  add(index: number | string, what: string): void {
    this.count++;
    if (this.#reported.length < most) this.#reported.push(`seed ${this.#seed}, case ${index}: ${what}`);
  }

  /** Runs one case and records an exception as a failure. */
  async guard(index: number | string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.add(index, error instanceof Error ? error.message : String(error));
    }
  }

  /** Throws if there were failures. */
  end(): void {
    if (this.count === 0) return;
    throw new Error(`${this.count} failures.\n${this.#reported.join('\n')}`);
  }
}

/** Throws unless both are the same string, number or boolean. */
export function same(what: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return;
  throw new Error(`${what} is ${shown(actual)}, not ${shown(expected)}`);
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text;
}
