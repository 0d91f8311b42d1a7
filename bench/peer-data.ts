/** Creates the same animals for all peers, in the format of each peer. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { NewPet } from '../src/contract/pets.ts';
import { animals } from './animals.ts';

export interface PeerData {
  readonly folder: string;
  /** The SQLite file. Each peer gets a copy. */
  readonly database: string;
  /** The same data in the format of json-server. */
  readonly json: string;
  /** The callers as JSON, for peers without SQLite. */
  readonly callers: string;
  readonly keys: { readonly unlimited: string; readonly exhausted: string };
}

const keys = { unlimited: 'bench-unlimited-0123456789abcdef', exhausted: 'bench-exhausted-0123456789abcdef' };
const callers = [
  { key: keys.unlimited, perMinute: 1_000_000_000 },
  { key: keys.exhausted, perMinute: 1 },
];

export async function preparePeerData(folder: string, count: number): Promise<PeerData> {
  const data = {
    folder,
    database: join(folder, 'peers.db'),
    json: join(folder, 'peers.json'),
    callers: join(folder, 'callers.json'),
    keys,
  };
  fillDatabase(data.database, count);
  const pets = [...animals(count)].flat().map(({ name, categoryId, status }, index) => {
    return { id: index + 1, name, categoryId: Number(categoryId), status };
  });
  await Bun.write(data.json, JSON.stringify({ pets }));
  await Bun.write(data.callers, JSON.stringify(callers));
  return data;
}

function fillDatabase(path: string, count: number): void {
  using database = new Database(path, { create: true, strict: true });
  database.run(`
    CREATE TABLE pets (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT NOT NULL
    ) STRICT;
    CREATE INDEX pets_by_status ON pets (status);
    CREATE TABLE api_keys (key TEXT PRIMARY KEY, per_minute INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `);
  const insertKey = database.prepare('INSERT INTO api_keys VALUES (?, ?)');
  for (const { key, perMinute } of callers) insertKey.run(key, perMinute);
  const insert = database.prepare('INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)');
  const insertAll = database.transaction((group: NewPet[]) => {
    for (const { name, categoryId, status } of group) insert.run(name, categoryId, status);
  });
  for (const group of animals(count)) insertAll(group);
}
