/** Stores for backup tests, and their contents. */
import { Database } from 'bun:sqlite';
import { makeBackup } from '../../src/storage/sqlite/backup/make.ts';
import { storeFiles } from '../../src/storage/sqlite/files.ts';
import { clientOf } from './client.ts';
import { ample, dataFileIn, issueKey, operatorOf, startService } from './process.ts';
import { maxWaitMs } from './wait.ts';

/** Two strikes ban a key, for longer than a test runs. */
export const strict = { BAN_STRIKES: '2', BAN_FIRST_SECONDS: '86400', DRAIN_SECONDS: '0' } as const;

export interface SampleStore {
  /** A key with all scopes. */
  readonly key: string;
  /** Banned. */
  readonly bannedKey: string;
}

/** Creates a store with these animals, a banned key and a log without a checkpoint, as `kill -9` leaves it. */
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

/** Makes a backup in this process. */
export function backUp(folder: string, target: string, now = Date.now()) {
  const { data, limits } = storeFiles(dataFileIn(folder), false);
  return makeBackup({ data, limits, target, now, madeBy: '1.2.3' });
}

/** The names of the animals in a store, and its banned keys. */
export async function contentsOf(folder: string): Promise<{ animals: string[]; bans: number[] }> {
  await using operator = await operatorOf(folder);
  const pets = await operator.storage.pets.list(0n, 1_000);
  const bans = await operator.storage.limits.bans();
  return { animals: pets.map(({ name }) => name), bans: bans.map(({ keyId }) => keyId) };
}

/** Changes a database directly. */
export function change(path: string, ...statements: readonly string[]): void {
  using database = new Database(path, { readwrite: true });
  // A service may be writing at the same time.
  database.run(`PRAGMA busy_timeout = ${maxWaitMs}`);
  for (const statement of statements) database.run(statement);
}
