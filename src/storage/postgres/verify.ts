import type { StoreContents } from '../backup.ts';
import { StorageUnusable } from '../storage.ts';
import { PostgresDatabase, type PostgresOptions } from './database.ts';
import { migrationSteps } from './migration-steps.ts';

/** Counts the rows of a database without changing it, even if its format is older. Throws `StorageUnusable`. */
export async function verifyPostgres(options: PostgresOptions): Promise<StoreContents> {
  await using database = new PostgresDatabase(options);
  const tables = await database.read<{ name: string }[]>(
    (sql) => sql`
      SELECT table_name::text AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  const names = tables.map(({ name }) => name);
  if (!names.includes('animal_store_format')) {
    throw new StorageUnusable('No store found in this PostgreSQL database and schema. Check DATABASE_URL.');
  }
  const [row] = await database.read<{ version: number }[]>(
    (sql) => sql`SELECT version FROM animal_store_format`,
  );
  const counts: Record<string, number> = {};
  for (const name of names) {
    const [counted] = await database.read<{ count: bigint }[]>((sql) =>
      sql.unsafe(`SELECT count(*) AS count FROM "${name.replaceAll('"', '""')}"`),
    );
    counts[name] = Number(counted?.count);
  }
  return { format: Number(row?.version), newestFormat: migrationSteps.length, counts, bytes: null };
}
