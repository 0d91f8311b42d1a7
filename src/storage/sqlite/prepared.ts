import { Database, type SQLQueryBindings } from 'bun:sqlite';

/** A parameter that SQLite may compare with a literal or take as a limit. */
const typeSensitiveParameter = /(?<=[=<>]\s*|\b(?:LIMIT|OFFSET)\s+)\?/g;

/**
 * Prepares each statement only once. SQLite prepares a statement again whenever a value is bound on which the best plan
 * may depend (https://www.sqlite.org/c3ref/prepare.html), such as a limit or a condition of a partial index. Preparing
 * can take longer than running the statement. A unary plus hides the value from the planner. The runtime's own cache
 * only has room for 20 statements. Use this class for a limited number of different texts.
 */
export class PreparedDatabase extends Database {
  readonly #prepared = new Map<string, ReturnType<Database['query']>>();

  override query<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(text: string) {
    const statement = this.#prepared.get(text) ?? super.query(text.replace(typeSensitiveParameter, '+?'));
    this.#prepared.set(text, statement);
    return statement as ReturnType<typeof Database.prototype.query<Row, Values>>;
  }
}
