import type { Database, Statement } from 'bun:sqlite';
import type { SqlValue } from '../../tables/table.ts';
import { type Engine, sqliteDialect } from '../queries/engine.ts';
import type { RunRead } from './entities/entity.ts';

/** Prepares each statement once. SQLite needs no types of parameters and results. */
export class SqliteEngine implements Engine {
  readonly dialect = sqliteDialect;
  readonly #database: Database;
  readonly #read: RunRead;
  readonly #prepared = new Map<string, Statement<unknown, SqlValue[]>>();

  constructor(database: Database, read: RunRead = (work) => work()) {
    this.#database = database;
    this.#read = read;
  }

  /** Prepares statements before they are used. */
  prepare(texts: Readonly<Record<string, string>>): void {
    for (const text of Object.values(texts)) this.#statement(text);
  }

  all<Row>(text: string, ...values: SqlValue[]): Row[] {
    return this.#read(() => this.#statement(text).all(...values)) as Row[];
  }

  run(text: string, ...values: SqlValue[]): number {
    return this.#statement(text).run(...values).changes;
  }

  #statement(text: string): Statement<unknown, SqlValue[]> {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const own = text.replace(/::\w+/g, '').replace(/\$(\d)/g, '?$1');
    const statement = this.#database.query<unknown, SqlValue[]>(own);
    this.#prepared.set(text, statement);
    return statement;
  }
}
