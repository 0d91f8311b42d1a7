import { killRounds } from '../faults/kill-rounds.ts';
import type { StressTest } from './stress-test.ts';

function killing(name: string, workers: number, what: string, backWithinSeconds: number): StressTest {
  return {
    name,
    promise:
      `kill -9 ${what} under load loses no acknowledged animal, gives no id twice, damages no file, counts every request ` +
      `exactly, and the service is back within ${backWithinSeconds} s`,
    rounds: 1_000,
    async run(options) {
      const figures = await killRounds({ ...options, workers, backWithinMs: backWithinSeconds * 1_000 });
      return {
        'animals acknowledged, all kept': figures.acknowledged,
        'unanswered at a kill': figures.unanswered,
        'of these stored': figures.storedUnanswered,
        'slowest start in ms': figures.slowestStartMs,
        'most requests charged that were under way': figures.mostChargedUnused,
      };
    },
  };
}

export const killTests: readonly StressTest[] = [
  killing('kill', 1, 'of the service', 2),
  // Three processes start at once.
  killing('kill-supervisor', 2, 'of the supervisor of two workers', 5),
];
