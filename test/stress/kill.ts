import { killRounds } from '../faults/kill-rounds.ts';
import type { StressTest } from './stress-test.ts';

export const kill: StressTest = {
  name: 'kill',
  promise:
    'kill -9 under load loses no acknowledged animal, gives no id twice, damages no file, counts every request ' +
    'exactly, ' +
    'and the service is back within 2 s',
  rounds: 1_000,
  async run(options) {
    const figures = await killRounds({ ...options, backWithinMs: 2_000 });
    return {
      'animals acknowledged, all kept': figures.acknowledged,
      'unanswered at a kill': figures.unanswered,
      'of these stored': figures.storedUnanswered,
      'slowest start in ms': figures.slowestStartMs,
      'most requests charged that were under way': figures.mostChargedUnused,
    };
  },
};
