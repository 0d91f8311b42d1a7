/** A store created by version 1.0.0, and the storage code of a later version. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { openEmbedded } from '../../src/app/embedded.ts';
import type { LimitedStore } from '../../src/app/limited-store.ts';
import { systemClock } from '../../src/domain/clock.ts';
import { units } from '../../src/operations/units.ts';
import type { Migrations } from '../../src/storage/sqlite/database.ts';
import { dataMigrations, newestFormat } from '../../src/storage/sqlite/migrations.ts';
import { strictRules } from './place.ts';

/** A key of the account "default" on the Free plan. The store has four animals. Key 2 is banned. */
export const oldKey = 'ask_70Gd1x2zwUZE1Azq06AlzdRy5iTFHawg2XP63r';

/** Writes the two files of a store of version 1.0.0, with the file names of that version. */
export async function writeOldStore(dataPath: string, limitsPath: string): Promise<void> {
  for (const [part, path] of [
    ['data', dataPath],
    ['limits', limitsPath],
  ] as const) {
    using database = new Database(path, { create: true });
    database.run('PRAGMA journal_mode = WAL');
    database.run(await Bun.file(join(import.meta.dir, `store-1.0.0/${part}.sql`)).text());
  }
}

/** The current migrations and an additional one, as in a later version. */
export const migrationsWith = (change: (database: Database) => void): Migrations => [
  ...dataMigrations,
  { format: newestFormat + 1, change },
];

export const laterMigrations = migrationsWith((database) =>
  database.run('CREATE TABLE of_tomorrow (id INTEGER) STRICT'),
);

/** Opens a store as the service or the command line of a later version does. */
export function openLater(
  path: string,
  isServing: boolean,
  migrates = true,
  migrations: Migrations = laterMigrations,
): LimitedStore {
  return openEmbedded({
    path,
    isServing,
    create: isServing,
    migrates,
    clock: systemClock(),
    rules: strictRules,
    units,
    writer: { kind: 'here' },
    notice: () => {},
    migrations,
  });
}
