import type { SQL } from 'bun';
import type { SqlValue } from '../../tables/table.ts';
import { type Engine, postgresDialect } from '../queries/engine.ts';
import type { Runner } from './statements.ts';

/** Runs statements in a transaction, or as standalone reads. */
export class PostgresEngine implements Engine {
  readonly dialect = postgresDialect;
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  async all<Row>(text: string, ...values: SqlValue[]): Promise<Row[]> {
    return Array.from(await this.#result<Row>(text, values));
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return (await this.#result(text, values)).affectedRows;
  }

  #result<Row>(text: string, values: SqlValue[]) {
    return this.#runner.run(
      (sql): SQL.Query<Row[] & Pick<SQL.ResultMetadata, 'affectedRows'>> => sql.unsafe(text, values),
    );
  }
}
