import type { Instance, InstanceStore } from '../admin.ts';
import type { Reader } from './statements.ts';

interface InstanceRow {
  readonly name: string;
  readonly version: string;
  readonly startedAt: bigint;
  readonly seenAt: bigint;
}

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
    return rows.map(({ name, version, startedAt, seenAt }) => {
      return { name, version, startedAt: Number(startedAt), seenAt: Number(seenAt) };
    });
  }
}
