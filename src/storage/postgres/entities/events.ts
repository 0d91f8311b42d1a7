import { events, type NewEvent, type StoredEvent } from '../../../tables/events.ts';
import { pruneEvents } from '../../queries/events.ts';
import type { EventBounds, EventStore } from '../../storage.ts';
import type { EventWrites } from '../../transaction.ts';
import { PostgresEngine } from '../engine.ts';
import { isReadOnlyOutage } from '../failures.ts';
import type { Runner, Statements } from '../statements.ts';
import { PostgresEntity } from './entity.ts';

/** Resolves when changes committed before the call are visible on every instance. */
export type WaitForPropagation = () => Promise<void>;

/**
 * Each list first assigns ids to newly committed events (`number_events` in `storage/schema/`). It then
 * waits until the changes that the events report are visible on every instance. Otherwise, a client that lists the
 * resources next could receive outdated cached pages.
 */
export class PostgresEvents extends PostgresEntity<typeof events> implements EventStore {
  readonly #waitForPropagation: WaitForPropagation;
  /** The changes reported by events up to this id are visible on every instance. */
  #visibleUntil = 0n;

  constructor(runner: Runner, waitForPropagation: WaitForPropagation = async () => undefined) {
    super(events, runner);
    this.#waitForPropagation = waitForPropagation;
  }

  override async list(after: bigint, limit: number): Promise<StoredEvent[]> {
    await this.#number();
    const found = await super.list(after, limit);
    await this.#waitUntilVisible(found.at(-1)?.id);
    return found;
  }

  override async findMany(ids: readonly bigint[]): Promise<StoredEvent[]> {
    const found = await super.findMany(ids);
    await this.#waitUntilVisible(found.reduce((last, { id }) => (id > last ? id : last), 0n));
    return found;
  }

  async newest(limit: number, before = 2n ** 63n - 1n): Promise<StoredEvent[]> {
    await this.#numberAll();
    const found = await this.rows(
      `${this.texts.select} WHERE id < $2 ORDER BY id DESC LIMIT $1`,
      limit,
      before,
    );
    await this.#waitUntilVisible(found[0]?.id);
    return found;
  }

  async bounds(): Promise<EventBounds> {
    await this.#numberAll();
    const [found] = await this.runner.run<{ oldest: bigint | null; last: bigint }[]>(
      (sql) => sql`
        SELECT (SELECT min(id) FROM events) AS oldest, last FROM counters WHERE name = 'events'`,
    );
    const last = found?.last ?? 0n;
    await this.#waitUntilVisible(last);
    return { oldest: found?.oldest ?? last + 1n, last };
  }

  /** Without readers, events wait for their ids until the next sweep. */
  async #numberAll(): Promise<void> {
    while (await this.#number());
  }

  /** While the database is read-only, instances start, and serve the events that have ids. */
  async #number(): Promise<boolean> {
    try {
      return await numberEvents(this.runner);
    } catch (error) {
      if (isReadOnlyOutage(error)) return false;
      throw error;
    }
  }

  async #waitUntilVisible(last = 0n): Promise<void> {
    if (last <= this.#visibleUntil) return;
    await this.#waitForPropagation();
    if (last > this.#visibleUntil) this.#visibleUntil = last;
  }
}

/** Maximum number of events that get ids in one transaction, as in `number_events` of the schema. */
const numberedAtOnce = 400n;

/** Assigns ids to a batch of events without ids. Returns whether more events without ids may remain. */
export async function numberEvents({ run }: Runner): Promise<boolean> {
  const [row] = await run<{ numbered: bigint }[]>((sql) => sql`SELECT number_events() AS numbered`);
  return row !== undefined && row.numbered >= numberedAtOnce;
}

export class PostgresEventWrites implements EventWrites {
  readonly isOn: boolean;
  readonly #statements: Statements;
  #added: NewEvent[] = [];

  constructor(statements: Statements, isOn: boolean) {
    this.#statements = statements;
    this.isOn = isOn;
  }

  add(event: NewEvent): void {
    if (this.isOn) this.#added.push(event);
  }

  /** Writes the added events in one statement. */
  async flush(): Promise<void> {
    if (this.#added.length === 0) return;
    const rows = JSON.stringify(this.#added);
    this.#added = [];
    await this.#statements.run(
      (sql) => sql`
        INSERT INTO unnumbered_events (type, data, account_id, created_at)
        SELECT value->>'type', value->>'data', (value->>'accountId')::bigint, (value->>'createdAt')::bigint
        FROM json_array_elements(${rows}::text::json) WITH ORDINALITY AS event (value, number)
        ORDER BY event.number`,
    );
  }

  prune(before: number) {
    return pruneEvents(new PostgresEngine(this.#statements), before);
  }

  async skip(): Promise<boolean> {
    if (await numberEvents(this.#statements)) return false;
    await this.#statements.run((sql) => sql`UPDATE counters SET last = last + 1 WHERE name = 'events'`);
    return true;
  }
}
