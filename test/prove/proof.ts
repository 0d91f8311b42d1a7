/** A proof that takes longer than a test may. It throws when what it proves does not hold. */
export interface Proof {
  readonly name: string;
  /** What holds if it passes, in a sentence. */
  readonly promise: string;
  /** How many rounds it runs unless told otherwise. */
  readonly rounds: number;
  run(options: ProofOptions): Promise<Figures>;
}

export interface ProofOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Tells how far it is. */
  readonly progress: (line: string) => void;
}

/** What was measured, by its name. */
export type Figures = Readonly<Record<string, number | string>>;
