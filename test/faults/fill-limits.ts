/**
 * Counts requests from new accounts until the disk is full, then requests from the same accounts again. Prints the
 * results as JSON.
 */
import { readdirSync } from 'node:fs';
import { systemClock } from '../../src/domain/clock.ts';
import { plans } from '../../src/domain/plan.ts';
import { callerOf, openAlone } from '../storage/limit-kit.ts';

const folder = process.argv[2] ?? '';
const { limits, notices } = openAlone(folder, systemClock());
const served: number[] = [];
const reasons = new Set<string>();
// The limit file must grow for each of these accounts.
for (let index = 0; index < 60; index++) {
  try {
    limits.take(callerOf(plans.business, 1 + index * 5_000));
    served.push(index);
  } catch (error) {
    reasons.add(((error as Error).cause as Error).message);
  }
}
const remaining = served.map(
  (index) => limits.take(callerOf(plans.business, 1 + index * 5_000)).minute.remaining,
);
await limits.close();
process.stdout.write(
  JSON.stringify({ served, remaining, reasons: [...reasons], notices, files: readdirSync(folder).sort() }),
);
