/**
 * A store with the same table, key lookup and durability for every peer. `database` is from better-sqlite3 or
 * bun:sqlite.
 */
export function storeOf(database) {
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  const columns = 'id, name, category_id AS categoryId, status';
  const caller = database.prepare('SELECT key, per_minute AS perMinute FROM api_keys WHERE key = ?');
  const list = database.prepare(`SELECT ${columns} FROM pets WHERE id >= ? ORDER BY id LIMIT ?`);
  const listByStatus = database.prepare(
    `SELECT ${columns} FROM pets WHERE status = ? AND id >= ? ORDER BY id LIMIT ?`,
  );
  const find = database.prepare(`SELECT ${columns} FROM pets WHERE id = ?`);
  const insert = database.prepare('INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)');

  return {
    /** Returns the caller with this credential; undefined if there is none. */
    findCaller(authorization) {
      const key = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
      return key === undefined ? undefined : (caller.get(key) ?? undefined);
    },
    list: (limit, status, minId = 1) =>
      status === undefined ? list.all(minId, limit) : listByStatus.all(status, minId, limit),
    find: (id) => find.get(id) ?? undefined,
    add({ name, categoryId, status = 'available' }) {
      const { lastInsertRowid } = insert.run(name, categoryId, status);
      return { id: Number(lastInsertRowid), name, categoryId, status };
    },
  };
}

export const unauthorized = { code: 'invalid_api_key', message: 'The API key is invalid.', status: 401 };
export const notFound = { code: 'pet_not_found', message: 'There is no such animal.', status: 404 };
