/** A test that takes longer than `npm test` may. It throws when what it checks does not hold. */
export interface StressTest {
  readonly name: string;
  /** What holds if it passes, in a sentence. */
  readonly promise: string;
  /** How many rounds it runs by default. */
  readonly rounds: number;
  run(options: StressOptions): Promise<Figures>;
}

export interface StressOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Reports how far it is. */
  readonly progress: (line: string) => void;
}

/** The measured values, by name. */
export type Figures = Readonly<Record<string, number | string>>;

/** Opens what a machine may lack. Throws when it is missing. */
export async function openOrThrow<Place>(open: () => Promise<Place | undefined>): Promise<Place> {
  const place = await open();
  if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  return place;
}
