import { fillWindows } from '../process/worker-windows.ts';
import type { StressTest } from './stress-test.ts';

const workers = 4;

export const workerWindows: StressTest = {
  name: 'worker-windows',
  promise:
    `${workers} workers on one embedded store admit exactly the limit in each window of an account with two keys, and show ` +
    'each value of Remaining once',
  rounds: 200,
  async run({ rounds, progress }) {
    const figures = await fillWindows({ windows: rounds, workers, progress });
    return {
      windows: rounds,
      'workers that answered': figures.workers,
      admitted: figures.admitted,
      'admitted over or under the limit': 0,
    };
  },
};
