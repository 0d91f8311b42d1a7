import { backupRounds } from '../faults/backup-rounds.ts';
import type { StressTest } from './stress-test.ts';

export const backup: StressTest = {
  name: 'backup',
  promise:
    'a backup under full write load, with kill -9 of the service, the command or the process that writes, restored elsewhere, has every ' +
    'animal acknowledged before it began, and integrity_check finds it in order; no half file ever has the name of a backup',
  rounds: 100,
  async run(options) {
    const figures = await backupRounds(options);
    return {
      'animals acknowledged before, all restored': figures.acknowledgedBefore,
      'animals restored': figures.restored,
      'backups interrupted, no file': figures.interrupted,
      'slowest backup in ms': figures.slowestBackupMs,
    };
  },
};
