import { syscallFaults } from '../faults/syscalls.ts';
import type { StressTest } from './stress-test.ts';

export const syscalls: StressTest = {
  name: 'syscalls',
  promise:
    'EIO, ENOSPC or kill -9 at any system call of a creation, and of a checkpoint, makes no answer false, damages no ' +
    'file and loses nothing acknowledged; needs strace',
  rounds: 1,
  async run({ rounds, progress }) {
    const total = { faults: 0, acknowledged: 0, refused: 0, failed: 0, unanswered: 0, restarts: 0 };
    for (let round = 1; round <= rounds; round++) {
      const figures = await syscallFaults({ every: 1, checkpoints: true, progress });
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += figures[name];
    }
    return {
      faults: total.faults,
      'creations acknowledged, all kept': total.acknowledged,
      'refused with 503': total.refused,
      'failed with 500 (an unreadable page)': total.failed,
      'unanswered, killed': total.unanswered,
      'restarts needed (a lock the system did not release)': total.restarts,
    };
  },
};
