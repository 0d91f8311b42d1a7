import { refuse } from './sources.ts';

/**
 * Allowed number of violations of a rule, per file or folder, and the reason if it is not obvious. The numbers may
 * decrease but never increase.
 */
export type Allowances = Readonly<Record<string, readonly [places: number, reason?: string]>>;

/** Fails with the advice if there are more violations than allowed. Prints the allowances that can be lowered. */
export function refuseBeyond(
  allowances: Allowances,
  advice: string,
  places: ReadonlyMap<string, readonly string[]>,
): void {
  for (const [where, [allowed]] of Object.entries(allowances)) {
    const found = places.get(where)?.length ?? 0;
    if (found < allowed) console.warn(`test/tidy: allow ${found} instead of ${allowed} for ${where}.`);
  }
  const beyond = [...places].filter(([where, found]) => found.length > (allowances[where]?.[0] ?? 0));
  refuse(
    advice,
    beyond.flatMap(([, found]) => found),
  );
}
