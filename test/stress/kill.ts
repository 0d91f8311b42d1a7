import { killRounds } from '../faults/kill-rounds.ts';
import type { StressTest } from './stress-test.ts';

function killTest(name: string, what: string, workers: number, backWithinMs: number): StressTest {
  return {
    name,
    promise:
      `kill -9 of ${what} under load loses no acknowledged animal, gives no id twice, damages no file, counts every ` +
      `request exactly, and the service is back within ${backWithinMs / 1_000} s`,
    rounds: 1_000,
    async run(options) {
      const figures = await killRounds({ ...options, workers, backWithinMs });
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

export const killTests = [
  killTest('kill', 'the service', 1, 2_000),
  killTest('kill-everything', 'a service with two workers, all its processes at once,', 2, 5_000),
];
