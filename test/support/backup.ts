/** Creates and reads stores for backup tests. */
import { Database } from 'bun:sqlite';
import { createBackup } from '../../src/backup/make.ts';
import { prepareStoreFiles } from '../../src/store-files/files.ts';
import { clientOf } from './client.ts';
import { ample, dataFileIn, issueKey, operatorOf, startService } from './process.ts';
import { maxWaitMs } from './wait.ts';

/** With these settings, two strikes ban a key for longer than any test runs. */
export const strict = { BAN_STRIKES: '2', BAN_FIRST_SECONDS: '86400', DRAIN_SECONDS: '0' } as const;

export interface SampleStore {
  /** A key with all scopes. */
  readonly key: string;
  readonly bannedKey: string;
}

/** Creates a store with these animals, a banned key and a WAL that was not checkpointed, as after `kill -9`. */
export async function makeSampleStore(folder: string, animals: readonly string[]): Promise<SampleStore> {
  await using service = await startService(folder, strict);
  const key = await issueKey(folder, 'enterprise', ample);
  const bannedKey = await issueKey(folder, 'enterprise', { perMinute: 1, perDay: 1 });
  const client = clientOf(service.url, key);
  for (const name of animals) {
    const { status, text } = await client.add(name);
    if (status !== 201) throw new Error(`${status} ${text}`);
  }
  for (;;) {
    const { status, text } = await clientOf(service.url, bannedKey).get('/pets?limit=1');
    if (status === 429 && text.includes('banned')) break;
  }
  return { key, bannedKey };
}

/** Creates a backup in this process. */
export function backUp(folder: string, target: string, now = Date.now()) {
  const { data, limits } = prepareStoreFiles(dataFileIn(folder), false);
  return createBackup({ data, limits, target, now, madeBy: '1.2.3' });
}

/** The names of a store's animals, and the ids of its banned keys. */
export async function contentsOf(folder: string): Promise<{ animals: string[]; bans: number[] }> {
  await using operator = await operatorOf(folder);
  const pets = await operator.storage.pets.list(0n, 1_000);
  const bans = await operator.storage.limits.bans();
  return { animals: pets.map(({ name }) => name), bans: bans.map(({ keyId }) => keyId) };
}

/** Changes a database file directly. */
export function change(path: string, ...statements: readonly string[]): void {
  using database = new Database(path, { readwrite: true });
  // A running service may hold the write lock.
  database.run(`PRAGMA busy_timeout = ${maxWaitMs}`);
  for (const statement of statements) database.run(statement);
}
