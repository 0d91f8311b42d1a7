/** A test that takes longer than `npm test` may. It throws when what it checks does not hold. */
export interface StressTest {
  readonly name: string;
  /** What holds if it passes, in a sentence. */
  readonly promise: string;
  /** How many rounds it runs unless told otherwise. */
  readonly rounds: number;
  run(options: StressOptions): Promise<Figures>;
}

export interface StressOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Tells how far it is. */
  readonly progress: (line: string) => void;
}

/** What was measured, by its name. */
export type Figures = Readonly<Record<string, number | string>>;
