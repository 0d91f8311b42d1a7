import type { SQL } from 'bun';
import type { Caller } from '../../../domain/caller.ts';
import type { keys } from '../../../tables/accounts.ts';
import { CallerReader, type CallerRow, selectCaller } from '../../caller.ts';
import type { KeyFingerprint, KeyStore } from '../../storage.ts';
import { PostgresEntity } from './entity.ts';

export class PostgresKeys extends PostgresEntity<typeof keys> implements KeyStore {
  readonly #callers = new CallerReader();

  async fingerprints(fromId: number, limit: number): Promise<KeyFingerprint[]> {
    const rows = await this.runner.run(
      (sql): SQL.Query<{ id: bigint; fingerprint: string }[]> =>
        sql`SELECT id, fingerprint FROM keys WHERE id >= ${fromId} ORDER BY id LIMIT ${limit}`,
    );
    return rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint }));
  }

  async findCaller(fingerprint: string): Promise<Caller | undefined> {
    const [row] = await this.runner.run(
      (sql): SQL.Query<CallerRow[]> => sql.unsafe(`${selectCaller} $1`, [fingerprint]),
    );
    return row && this.#callers.callerOf(row);
  }
}
