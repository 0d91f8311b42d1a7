import type { NewPet } from '../../contract/pets.ts';
import { importedJson, type Pet } from '../../contract/representations.ts';
import type { UsageBounds, UsageReport } from '../../storage/admin.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import type { ImportRun } from '../../tables/imports.ts';
import type { NewAuditEntry } from '../../tables/operators.ts';

interface ImportCommit {
  readonly pets: readonly NewPet[];
  /** Unix ms. */
  readonly now: number;
  readonly run?: ImportRun;
  readonly fromLine?: number;
  readonly entry?: NewAuditEntry | undefined;
}

export const recordUnits = {
  commitImport: {
    writes: ['pets'],
    run: async (
      { imports, pets, audit, events }: Transaction,
      { pets: read, now, run, fromLine, entry }: ImportCommit,
    ): Promise<Pet[] | undefined> => {
      if (run !== undefined) {
        const stored = await imports.find(run.source);
        // Prevents two concurrent imports of the same input from adding its animals twice.
        if (fromLine !== undefined && fromLine !== (stored?.lastLine ?? 0)) return undefined;
        await imports.put(run);
      }
      const added = await pets.add(read);
      const [first, last] = [added.at(0), added.at(-1)];
      if (first !== undefined && last !== undefined) {
        const data = importedJson({ count: added.length, firstId: first.id, lastId: last.id });
        events.add({ type: 'pets.imported', data, createdAt: now });
      }
      if (entry !== undefined) await audit.add(entry);
      return added;
    },
  },
  recordUsage: {
    writes: [],
    run: async ({ usage, instances }: Transaction, report: UsageReport) => {
      if (await usage.isNew(report.number)) await usage.add(report);
      await instances.put(report.instance);
    },
  },
  pruneUsage: { writes: [], run: ({ usage }: Transaction, bounds: UsageBounds) => usage.prune(bounds) },
  /** Deletes responses that were stored before the given time (Unix ms). */
  pruneResponses: {
    writes: [],
    run: ({ storedResponses }: Transaction, since: number) => storedResponses.prune(since),
  },
  /** Deletes events recorded before the given time (Unix ms). */
  pruneEvents: { writes: [], run: ({ events }: Transaction, before: number) => events.prune(before) },
  /**
   * Leaves a gap in the event ids, because changes from now on are not recorded as events. Returns false if it must be
   * repeated.
   */
  skipEvents: { writes: [], run: ({ events }: Transaction, _: null) => events.skip() },
  /** Records an operator action that does not change stored data, such as lifting a ban. */
  recordAudit: { writes: [], run: ({ audit }: Transaction, entry: NewAuditEntry) => audit.add(entry) },
} as const satisfies Units;
