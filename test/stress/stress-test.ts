/** A test that takes too long for `npm test`. Throws on failure. */
export interface StressTest {
  readonly name: string;
  /** The tested guarantee, as a sentence. */
  readonly promise: string;
  /** Default number of rounds. */
  readonly rounds: number;
  run(options: StressOptions): Promise<StressResult>;
}

export interface StressOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

/** The measured values, keyed by name. */
export type StressResult = Readonly<Record<string, number | string>>;

/** Opens a resource. Throws if the resource is not available on this machine. */
export async function openOrThrow<Place>(open: () => Promise<Place | undefined>): Promise<Place> {
  const place = await open();
  if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
  return place;
}
