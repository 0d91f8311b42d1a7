import type { Resource } from '../../domain/resources.ts';
import { WriteUncertain } from '../storage.ts';
import type { Transaction } from '../transaction.ts';
import { PostgresAccountWrites } from './accounts.ts';
import { PostgresAnswerWrites } from './answers.ts';
import { PostgresAuditWrites } from './audit.ts';
import { PostgresCategoryWrites } from './categories.ts';
import { PostgresImportWrites } from './imports.ts';
import { PostgresKeyWrites } from './keys.ts';
import { PostgresOperatorWrites } from './operators.ts';
import { PostgresOrderWrites } from './orders.ts';
import { PostgresPetWrites } from './pets.ts';
import { PostgresSessionWrites } from './sessions.ts';
import type { Execute, Statement, Statements } from './statements.ts';
import { PostgresUsageWrites } from './usage-writes.ts';
import type { Versioned } from './versions.ts';

/** What one run of units of work writes with. */
export class PostgresTransaction implements Transaction, Statements {
  readonly pets = new PostgresPetWrites(this);
  readonly categories = new PostgresCategoryWrites(this);
  readonly orders = new PostgresOrderWrites(this);
  readonly answers = new PostgresAnswerWrites(this);
  readonly accounts = new PostgresAccountWrites(this);
  readonly keys = new PostgresKeyWrites(this);
  readonly imports = new PostgresImportWrites(this);
  readonly operators = new PostgresOperatorWrites(this);
  readonly sessions = new PostgresSessionWrites(this);
  readonly audit = new PostgresAuditWrites(this);
  readonly usage = new PostgresUsageWrites(this);
  readonly #execute: Execute;
  readonly #moved: Map<Resource, number>;
  /** Why a statement failed: the server does nothing more in the transaction from then on. */
  failure: unknown;

  /** The versions it moves are put into `moved`; 0 for one that is perhaps not moved. */
  constructor(execute: Execute, moved: Map<Resource, number>) {
    this.#execute = execute;
    this.#moved = moved;
  }

  async run<T>(statement: Statement<T>): Promise<T> {
    try {
      return await this.#execute(statement);
    } catch (error) {
      this.failure ??= error;
      throw error;
    }
  }

  async change<Row extends Versioned>(resource: Resource, statement: Statement<Row[]>): Promise<Row[]> {
    const rows = await this.run(statement).catch((error) => {
      if (error instanceof WriteUncertain) this.#moved.set(resource, 0);
      throw error;
    });
    const [row] = rows;
    if (row !== undefined) this.#moved.set(resource, Number(row.version));
    return rows;
  }
}
