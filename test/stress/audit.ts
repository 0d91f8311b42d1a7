import { type AuditedStore, auditRounds, clusterStore, embeddedStore } from '../faults/audit-rounds.ts';
import type { StressTest } from './stress-test.ts';

function auditTest(name: string, where: string, open: () => Promise<AuditedStore | undefined>): StressTest {
  return {
    name,
    promise:
      `kill -9 while operators change everything there is ${where}: the audit log has an entry for each change that was made and for ` +
      'no other, and of each object what the store has; no ban ends that nobody is recorded to have asked for',
    rounds: 100,
    async run(options) {
      await using store = await open();
      if (store === undefined) throw new Error('This machine has no servers to test with.');
      const figures = await auditRounds(store, options);
      return {
        'changes acknowledged, all recorded': figures.acknowledged,
        'unanswered at a kill': figures.unanswered,
        'of these made and recorded': figures.recordedUnanswered,
        'entries of the log': figures.entries,
        'lifts of bans of which only the request is recorded': figures.begunOnly,
      };
    },
  };
}

export const auditTests = [
  auditTest('audit', 'on the embedded store', embeddedStore),
  auditTest('audit-cluster', 'on PostgreSQL and Redis', clusterStore),
];
