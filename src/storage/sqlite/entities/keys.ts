import type { Database, Statement } from 'bun:sqlite';
import type { Caller } from '../../../domain/caller.ts';
import { keys } from '../../../tables/accounts.ts';
import { CallerReader, type CallerRow, selectCaller } from '../../caller.ts';
import type { KeyFingerprint, KeyStore } from '../../storage.ts';
import { type ReadIn, SqliteEntity } from './entity.ts';

export class SqliteKeys extends SqliteEntity<typeof keys> implements KeyStore {
  readonly #callers = new CallerReader();
  readonly #findCaller: Statement<CallerRow, [string]>;

  constructor(database: Database, read: ReadIn) {
    super(database, keys, { read });
    this.#findCaller = database.query(`${selectCaller} ?`);
  }

  fingerprints(fromId: number, limit: number): KeyFingerprint[] {
    const statement = this.database.query<{ id: bigint; fingerprint: string }, [number, number]>(
      'SELECT id, fingerprint FROM keys WHERE id >= ? ORDER BY id LIMIT ?',
    );
    const rows = this.read(() => statement.all(fromId, limit));
    return rows.map(({ id, fingerprint }) => ({ id: Number(id), fingerprint }));
  }

  findCaller(fingerprint: string): Caller | undefined {
    const row = this.read(() => this.#findCaller.get(fingerprint));
    return row === null ? undefined : this.#callers.callerOf(row);
  }
}
