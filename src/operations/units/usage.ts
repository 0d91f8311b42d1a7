import type { NewAuditEntry, UsageBounds, UsageReport } from '../../storage/admin.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

export const usageUnits = {
  recordUsage: { writes: [], run: ({ usage }: Transaction, report: UsageReport) => usage.add(report) },
  pruneUsage: { writes: [], run: ({ usage }: Transaction, bounds: UsageBounds) => usage.prune(bounds) },
} as const satisfies Units;

/** Kept answers that nobody may ask for any more: those of before an instant (Unix ms). */
export const answerUnits = {
  pruneAnswers: { writes: [], run: ({ answers }: Transaction, since: number) => answers.prune(since) },
} as const satisfies Units;

/** What an operator does that is no change of the data: a ban that is lifted. */
export const auditUnits = {
  recordAudit: { writes: [], run: ({ audit }: Transaction, entry: NewAuditEntry) => audit.append(entry) },
} as const satisfies Units;
