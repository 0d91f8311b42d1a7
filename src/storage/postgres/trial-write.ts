import type { SQL } from 'bun';

/** As many rows as the largest group has, so that a full disk shows. */
const rows = 1_000;

/**
 * Does what requests do, read and add, and takes it back: what the server refuses them, it refuses this.
 * The block's exception undoes what was done in it, without an error for the server's log.
 */
export function trialWrite(sql: SQL): SQL.Query<unknown> {
  return sql.unsafe(`
    DO $$
    BEGIN
      PERFORM 1 FROM keys JOIN accounts ON accounts.id = account_id LIMIT 1;
      PERFORM 1 FROM usage_snapshots LIMIT 1;
      PERFORM 1 FROM ban_snapshots LIMIT 1;
      PERFORM 1 FROM pets LIMIT 1;
      UPDATE counters SET last = last + ${rows} WHERE name = 'pets';
      INSERT INTO pets (id, name, category_id, status)
        SELECT last - number, 'rehearsal', 0, 'available'
        FROM counters, generate_series(0, ${rows - 1}) AS number WHERE counters.name = 'pets';
      RAISE EXCEPTION USING ERRCODE = 'AS000';
    EXCEPTION WHEN SQLSTATE 'AS000' THEN NULL;
    END $$`);
}
