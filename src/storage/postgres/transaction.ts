import type { Resource } from '../../domain/resources.ts';
import { WriteUncertainError } from '../../outages/errors.ts';
import { sessions } from '../../tables/operators.ts';
import { createEntities } from '../entity.ts';
import { createSessionWrites } from '../queries/sessions.ts';
import { type EntityTransaction, type Transaction, writableTables } from '../transaction.ts';
import { PostgresEngine } from './engine.ts';
import { deliveryWrites } from './entities/deliveries.ts';
import { PostgresEntity } from './entities/entity.ts';
import { PostgresEventWrites } from './entities/events.ts';
import { petWrites } from './entities/pets.ts';
import { responseWrites, type TransactionResponses } from './entities/responses.ts';
import { PostgresUsageWrites } from './entities/usage-writes.ts';
import type { Execute, Statement, Statements, Versioned } from './statements.ts';

export class PostgresTransaction implements Statements {
  readonly tables: Transaction;
  readonly events: PostgresEventWrites;
  readonly #execute: Execute;
  readonly #moved: Map<Resource, number>;
  /**
   * Error of the first failed statement. After this error, the server rejects all other statements of the transaction.
   */
  failure: unknown;
  /** Must be called when the unit has succeeded, so that its responses are stored. */
  readonly succeeded: () => void;

  /**
   * `moved` receives the new version of each changed resource, or 0 if the version is unknown. Without `responses`, stored
   * responses are sent to the server at once.
   */
  constructor(
    execute: Execute,
    moved: Map<Resource, number>,
    recordsEvents = true,
    responses?: TransactionResponses,
  ) {
    this.#execute = execute;
    this.#moved = moved;
    this.events = new PostgresEventWrites(this, recordsEvents);
    const statements: Statements = this;
    const ownResponses = responses?.ofUnit(this);
    this.succeeded = ownResponses?.succeeded ?? (() => undefined);
    // Most transactions use neither deliveries nor sessions, which are therefore created when they are used.
    this.tables = {
      ...createEntities<EntityTransaction>(writableTables, (table) => new PostgresEntity(table, this)),
      pets: petWrites(this, this.events),
      events: this.events,
      get deliveries() {
        return deliveryWrites(statements);
      },
      get sessions() {
        return Object.assign(
          new PostgresEntity(sessions, statements),
          createSessionWrites(new PostgresEngine(statements)),
        );
      },
      storedResponses: ownResponses?.writes ?? responseWrites(this),
      usage: new PostgresUsageWrites(this),
    };
  }

  readonly run = async <T>(statement: Statement<T>): Promise<T> => {
    try {
      return await this.#execute(statement);
    } catch (error) {
      this.failure ??= error;
      throw error;
    }
  };

  async change<Row extends Versioned>(resource: Resource, statement: Statement<Row[]>): Promise<Row[]> {
    const rows = await this.run(statement).catch((error) => {
      if (error instanceof WriteUncertainError) this.#moved.set(resource, 0);
      throw error;
    });
    const [row] = rows;
    if (row !== undefined) this.#moved.set(resource, Number(row.version));
    return rows;
  }
}
