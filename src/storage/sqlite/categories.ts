import type { Database } from 'bun:sqlite';
import type { Category } from '../../contract/categories.ts';
import type { CategoryStore } from '../storage.ts';
import type { CategoryWrites } from '../transaction.ts';
import type { Snapshot } from './snapshot.ts';
import type { Touch } from './transaction.ts';

const selection = 'SELECT id, name FROM categories';

export class SqliteCategories implements CategoryStore {
  readonly #snapshot: Snapshot;
  readonly #find;
  readonly #first;
  readonly #next;

  constructor(database: Database, snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#find = database.query<Category, [bigint]>(`${selection} WHERE id = ?`);
    this.#first = database.query<Category, [number]>(`${selection} ORDER BY id LIMIT ?`);
    this.#next = database.query<Category, [bigint, number]>(`${selection} WHERE id > ? ORDER BY id LIMIT ?`);
  }

  find(id: bigint): Category | undefined {
    return this.#snapshot.read(() => this.#find.get(id)) ?? undefined;
  }

  list(after: bigint | undefined, limit: number): Category[] {
    return this.#snapshot.read(() =>
      after === undefined ? this.#first.all(limit) : this.#next.all(after, limit),
    );
  }
}

export class SqliteCategoryWrites implements CategoryWrites {
  readonly #touch: Touch;
  readonly #find;
  readonly #put;
  readonly #delete;

  constructor(database: Database, touch: Touch) {
    this.#touch = touch;
    this.#find = database.query<Category, [bigint]>(`${selection} WHERE id = ?`);
    this.#put = database.query<never, [bigint, string]>(
      'INSERT INTO categories (id, name) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name',
    );
    this.#delete = database.query<never, [bigint]>('DELETE FROM categories WHERE id = ?');
  }

  find(id: bigint): Category | undefined {
    return this.#find.all(id)[0];
  }

  put({ id, name }: Category): void {
    this.#touch('categories');
    this.#put.run(id, name);
  }

  remove(id: bigint): void {
    this.#touch('categories');
    this.#delete.run(id);
  }
}
