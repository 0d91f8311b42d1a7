import type { NewPet, Pet } from '../../contract/pets.ts';
import type { NewAuditEntry } from '../../storage/admin.ts';
import type { ImportRun } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

interface ImportCommit {
  readonly pets: readonly NewPet[];
  readonly run?: ImportRun;
  readonly fromLine?: number;
  /** For the audit log: that the import has begun, or ended. */
  readonly entry?: NewAuditEntry | undefined;
}

export const importUnits = { commitImport: { writes: ['pets'], run: commit } } as const satisfies Units;

async function commit(
  { imports, audit }: Transaction,
  { pets, run, fromLine, entry }: ImportCommit,
): Promise<Pet[] | undefined> {
  const added = await imports.commit(pets, run, fromLine);
  if (added !== undefined && entry !== undefined) await audit.append(entry);
  return added;
}
