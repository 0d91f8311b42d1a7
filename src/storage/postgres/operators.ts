import type { SQL } from 'bun';
import type { NewOperator, Operator, OperatorStore, OperatorWrites } from '../admin.ts';
import { type OperatorRow, operatorOfRow } from '../admin-rows.ts';
import type { Reader, Statements } from './statements.ts';

const columns = (sql: SQL) =>
  sql`id, name, role, last_four AS "lastFour", created_at AS "createdAt", revoked_at AS "revokedAt"`;

export class PostgresOperators implements OperatorStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async list(): Promise<Operator[]> {
    const rows = await this.#reader.read<OperatorRow[]>(
      (sql) => sql`SELECT ${columns(sql)} FROM operators ORDER BY id`,
    );
    return rows.map(operatorOfRow);
  }

  async find(id: number): Promise<Operator | undefined> {
    const [row] = await this.#reader.read((sql) => byId(sql, id));
    return row && operatorOfRow(row);
  }

  async findByToken(fingerprint: string): Promise<Operator | undefined> {
    const [row] = await this.#reader.read<OperatorRow[]>(
      (sql) => sql`
        SELECT ${columns(sql)} FROM operators WHERE fingerprint = ${fingerprint} AND revoked_at IS NULL`,
    );
    return row && operatorOfRow(row);
  }
}

function byId(sql: SQL, id: number): SQL.Query<OperatorRow[]> {
  return sql`SELECT ${columns(sql)} FROM operators WHERE id = ${id}`;
}

export class PostgresOperatorWrites implements OperatorWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Whoever makes one of the same name at the same moment waits for the counter's row, and then finds the name taken. */
  async create(operator: NewOperator): Promise<Operator | undefined> {
    const { name, role, fingerprint, lastFour, createdAt } = operator;
    const [row] = await this.#statements.run<OperatorRow[]>(
      (sql) => sql`
        WITH taken AS (
          UPDATE counters SET last = last + 1
          WHERE name = 'operators'
            AND NOT EXISTS (SELECT 1 FROM operators WHERE operators.name = ${name} AND revoked_at IS NULL)
          RETURNING last
        )
        INSERT INTO operators (id, name, role, fingerprint, last_four, created_at)
        SELECT last, ${name}, ${role}, ${fingerprint}, ${lastFour}, ${createdAt}::bigint FROM taken
        ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
        RETURNING ${columns(sql)}`,
    );
    return row && operatorOfRow(row);
  }

  async find(id: number): Promise<Operator | undefined> {
    const [row] = await this.#statements.run((sql) => byId(sql, id));
    return row && operatorOfRow(row);
  }

  async replaceToken(id: number, fingerprint: string, lastFour: string): Promise<void> {
    await this.#statements.run(
      (sql) =>
        sql`UPDATE operators SET fingerprint = ${fingerprint}, last_four = ${lastFour} WHERE id = ${id}`,
    );
  }

  async revoke(id: number, at: number): Promise<void> {
    await this.#statements.run(
      (sql) => sql`UPDATE operators SET revoked_at = coalesce(revoked_at, ${at}) WHERE id = ${id}`,
    );
  }
}
