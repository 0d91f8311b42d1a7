import type { SQL } from 'bun';
import { foldCase } from '../../tables/accounts.ts';
import { schemaChanges } from '../schema/schema.ts';
import { newestFormatOf } from '../store-errors.ts';
import { indexesIn, type NewIndex } from './index-builds.ts';

/** Brings a store from the format of a release to that of the next. */
export interface MigrationStep {
  /** The resulting format. */
  readonly format: number;
  /** Built before the change, outside its transaction. */
  readonly indexes: readonly NewIndex[];
  /** Runs before the tables are locked. */
  readonly newTables: string;
  /** Names of the tables to lock before the change; empty if each statement may lock its table. */
  readonly locks: string;
  readonly change: string;
  readonly foldsNames: boolean;
}

/** Applies a step whose indexes have been built. */
export async function apply({ change, foldsNames }: MigrationStep, transaction: SQL): Promise<void> {
  await transaction.unsafe(change);
  if (foldsNames) await foldNames(transaction);
}

/** Applies a step and creates its indexes, in a store that no instance uses yet. */
export async function applyWithIndexes(step: MigrationStep, transaction: SQL): Promise<void> {
  for (const { create } of step.indexes) await transaction.unsafe(create);
  await transaction.unsafe(step.newTables);
  await apply(step, transaction);
}

const foldBatch = 1_000;

async function foldNames(transaction: SQL): Promise<void> {
  for (let last = 0n; ; ) {
    const accounts = await transaction<{ id: bigint; name: string }[]>`
      SELECT id, name FROM accounts WHERE id > ${last} ORDER BY id LIMIT ${foldBatch}`;
    const names = JSON.stringify(accounts.map(({ id, name }) => [String(id), foldCase(name)]));
    await transaction`
      UPDATE accounts SET name_folded = value->>1 FROM json_array_elements(${names}::text::json) AS folded (value)
      WHERE id = (value->>0)::bigint`;
    if (accounts.length < foldBatch) return;
    last = accounts.at(-1)?.id ?? last;
  }
}

/**
 * A statement that inserts a row takes the row's id from `counters`. With a sequence, a transaction could commit an id
 * after readers have already seen a higher id.
 */
export const migrationSteps: readonly MigrationStep[] = schemaChanges.map(
  ({
    formats,
    postgres,
    postgresIndexes = '',
    postgresTables = '',
    postgresLocks = '',
    foldsNames = false,
  }) => ({
    format: formats.postgres,
    indexes: indexesIn(postgresIndexes),
    newTables: postgresTables,
    locks: postgresLocks,
    ...{ change: postgres, foldsNames },
  }),
);

export const newestFormat = newestFormatOf(migrationSteps);
