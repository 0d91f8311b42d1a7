import type { SQL } from 'bun';
import type { Category } from '../../contract/categories.ts';
import type { CategoryStore } from '../storage.ts';
import type { CategoryWrites } from '../transaction.ts';
import type { Reader, Statements } from './statements.ts';
import { moved, type Versioned } from './versions.ts';

export class PostgresCategories implements CategoryStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(id: bigint): Promise<Category | undefined> {
    const [category] = await this.#reader.read((sql) => byId(sql, id));
    return category;
  }

  async list(after: bigint | undefined, limit: number): Promise<Category[]> {
    const categories = await this.#reader.read<Category[]>((sql) =>
      after === undefined
        ? sql`SELECT id, name FROM categories ORDER BY id LIMIT ${limit}`
        : sql`SELECT id, name FROM categories WHERE id > ${after} ORDER BY id LIMIT ${limit}`,
    );
    return [...categories];
  }
}

export class PostgresCategoryWrites implements CategoryWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async find(id: bigint): Promise<Category | undefined> {
    const [category] = await this.#statements.run((sql) => byId(sql, id));
    return category;
  }

  async put({ id, name }: Category): Promise<void> {
    await this.#statements.change<Versioned>(
      'categories',
      (sql) => sql`
        WITH ${moved(sql, 'categories')}
        INSERT INTO categories (id, name) SELECT ${id}::bigint, ${name} FROM moved
        ON CONFLICT (id) DO UPDATE SET name = excluded.name
        RETURNING (SELECT version FROM moved) AS version`,
    );
  }

  async remove(id: bigint): Promise<void> {
    await this.#statements.change<Versioned>(
      'categories',
      (sql) => sql`
        WITH ${moved(sql, 'categories')}
        DELETE FROM categories USING moved WHERE id = ${id} RETURNING version`,
    );
  }
}

function byId(sql: SQL, id: bigint): SQL.Query<Category[]> {
  return sql`SELECT id, name FROM categories WHERE id = ${id}`;
}
