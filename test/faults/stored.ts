/** Reads and checks the animals in a data file after a fault. All animals were sent by `Client.add`. */
import { Database } from 'bun:sqlite';
import { sent } from '../support/client.ts';

/** An acknowledged animal. */
export interface Acknowledged {
  readonly id: number;
  readonly name: string;
}

/**
 * Returns the ids of all animals whose id is greater than `afterId`, keyed by name. Throws unless the file is intact
 * and contains each animal completely and exactly once.
 */
export function storedAnimals(path: string, afterId = 0): Map<string, number> {
  using database = new Database(path, { readonly: true });
  const soundness = JSON.stringify(database.query('PRAGMA integrity_check').all());
  if (soundness !== '[{"integrity_check":"ok"}]') throw new Error(`The file is corrupt: ${soundness}`);
  const rows = database
    .query<Acknowledged & { whole: number }, [string, string, number]>(
      `SELECT id, name, category_id = CAST(? AS INTEGER) AND status = ? AS whole
       FROM pets WHERE id > ? ORDER BY id`,
    )
    .all(sent.categoryId, sent.status, afterId);
  const ids = new Map(rows.map(({ id, name }) => [name, id]));
  if (ids.size !== rows.length) throw new Error(`${rows.length - ids.size} animals are stored twice.`);
  const torn = rows.find(({ whole }) => whole !== 1);
  if (torn !== undefined) throw new Error(`"${torn.name}" differs from the animal that was sent.`);
  return ids;
}

/** Throws unless each acknowledged animal is stored under its id, and each stored animal was sent. */
export function checkStored(
  stored: ReadonlyMap<string, number>,
  acknowledged: Iterable<Acknowledged>,
  wasSent: (name: string) => boolean,
): void {
  for (const { id, name } of acknowledged) {
    if (stored.get(name) !== id)
      throw new Error(`"${name}" was acknowledged with id ${id}, but its stored id is ${stored.get(name)}.`);
  }
  const unsent = [...stored.keys()].find((name) => !wasSent(name));
  if (unsent !== undefined) throw new Error(`"${unsent}" is stored, but was never sent.`);
}
