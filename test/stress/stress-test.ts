/** A test too long for `npm test`. Throws on failure. */
export interface StressTest {
  readonly name: string;
  /** The tested guarantee, as a sentence. */
  readonly promise: string;
  /** Default number of rounds. */
  readonly rounds: number;
  run(options: StressOptions): Promise<Figures>;
}

export interface StressOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Reports progress. */
  readonly progress: (line: string) => void;
}

/** The measured values, by name. */
export type Figures = Readonly<Record<string, number | string>>;

/** Opens a resource that the machine may lack. Throws if it is missing. */
export async function openOrThrow<Place>(open: () => Promise<Place | undefined>): Promise<Place> {
  const place = await open();
  if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  return place;
}
