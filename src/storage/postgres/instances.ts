import type { Instance, InstanceStore } from '../admin.ts';
import { type InstanceRow, instanceOfRow } from '../admin-rows.ts';
import type { Reader } from './statements.ts';

export class PostgresInstances implements InstanceStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(): Promise<Instance[]> {
    const rows = await this.#reader.read<InstanceRow[]>(
      (sql) => sql`
        SELECT name, version, started_at AS "startedAt", seen_at AS "seenAt" FROM instances ORDER BY name`,
    );
    return rows.map(instanceOfRow);
  }
}
