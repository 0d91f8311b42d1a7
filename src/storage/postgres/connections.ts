import { Connection, type ConnectionSettings } from './connection.ts';
import { isOutOfConnections, NoAnswer, NoConnection } from './failures.ts';

export interface ConnectionsOptions {
  readonly connection: ConnectionSettings;
  /** Most connections. */
  readonly size: number;
  /** A connection is there, or was lost. */
  readonly onChange: () => void;
  /** Another connection could not be had; those that are there go on. */
  readonly onShortage: (error: Error) => void;
  /** There is no connection, and none can be had; or one does not answer. */
  readonly onUnreachable: (error: Error) => void;
}

/** Statements are sent behind others on a connection that answers: it saves half the time a statement costs. */
const deepestPipeline = 16;
/** A connection that has not answered for this long is not sent more: what it runs may wait for a lock. */
const stalledMs = 100;
/** Room for the server to end a statement itself and say so, before it counts as frozen. */
const silenceTimeouts = 1.5;
/** A connection that nothing was sent on for this long is closed, unless it is the last: others may be in need of it. */
const idleMs = 10_000;

/** The connections there are: opened as they are needed, shared with others where the server gives too few. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Connection>();
  readonly #reaper: NodeJS.Timeout;
  #opening = 0;
  /** Another connection could not be had: none is tried for but by `fill`. */
  #isShort = false;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#reaper = setInterval(() => this.#closeIdle(), idleMs / 2).unref();
  }

  /** An idle connection, or else one that may be sent more: the one with least to do. Opens another if none is idle. */
  choose(exclusive: boolean): Connection | undefined {
    const stalledSince = performance.now() - stalledMs;
    let best: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.retired || connection.exclusive) continue;
      if (connection.active === 0) return connection;
      const takesMore = connection.active < deepestPipeline && connection.movedAt > stalledSince;
      if (!exclusive && takesMore && connection.active < (best?.active ?? deepestPipeline)) best = connection;
    }
    if (!this.#isFull() && !(this.#isShort && this.#open.size > 0)) this.#growUnasked();
    return best;
  }

  get facts(): { connections: number; busy: number } {
    const busy = [...this.#open].filter(({ active }) => active > 0);
    return { connections: this.#open.size, busy: busy.length };
  }

  /** Opens as many connections as it may. Rejects with `NoConnection` when one cannot be had. */
  async fill(): Promise<void> {
    try {
      while (!this.#isFull()) await this.#grow();
      this.#isShort = false;
    } catch (error) {
      this.#giveBack(error);
      throw error;
    }
  }

  /** Replaces all connections by new ones, when what they run is answered. */
  renew(): void {
    for (const connection of this.#open) this.#retire(connection);
  }

  /** To be called when a statement is sent. */
  sent(connection: Connection, exclusive: boolean): void {
    if (connection.active === 0) connection.movedAt = performance.now();
    connection.active++;
    connection.exclusive = exclusive;
  }

  /** To be called when a statement is answered. */
  answered(connection: Connection): void {
    connection.active--;
    connection.exclusive = false;
    connection.movedAt = performance.now();
    if (connection.retired) this.#retire(connection);
  }

  /** Ends connections that do not answer; what they run is rejected with `NoAnswer`. */
  endSilent(): void {
    const silentMs = this.#options.connection.statementTimeoutMs * silenceTimeouts;
    const silentSince = performance.now() - silentMs;
    for (const connection of this.#open) {
      if (connection.active === 0 || connection.untimed || connection.movedAt > silentSince) continue;
      const failure = new NoAnswer(`no response within ${silentMs} ms`);
      this.#open.delete(connection);
      connection.retired = true;
      connection.close(failure);
      // The others may be as dead, and not know it.
      this.renew();
      this.#options.onUnreachable(failure);
    }
  }

  /** Waits for what is under way, up to a time, and ends all. */
  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaper);
    await Promise.all([...this.#open].map(({ sql }) => sql.close({ timeout: timeoutSeconds })));
  }

  #isFull(): boolean {
    return this.#open.size + this.#opening >= this.#options.size;
  }

  #growUnasked(): void {
    this.#grow().catch((error) => {
      if (this.#open.size > 0) {
        this.#isShort = true;
        this.#giveBack(error);
        this.#options.onShortage(error);
      } else if (this.#opening === 0) this.#options.onUnreachable(error);
    });
  }

  async #grow(): Promise<void> {
    const connection = new Connection(this.#options.connection, (closed) => this.#lost(closed));
    this.#opening++;
    try {
      await connection.open();
    } catch (error) {
      connection.close();
      throw new NoConnection(error);
    } finally {
      this.#opening--;
    }
    connection.movedAt = performance.now();
    if (this.#closed) connection.close();
    else this.#open.add(connection);
    this.#options.onChange();
  }

  #lost(connection: Connection): void {
    connection.retired = true;
    // An attempt that failed is told where it was made.
    if (this.#open.delete(connection)) this.#options.onChange();
  }

  /** Where the server gives no more connections others may be in need of one: half of them are given back. */
  #giveBack(error: unknown): void {
    if (!isOutOfConnections(error)) return;
    const connections = [...this.#open].filter(({ retired }) => !retired);
    const idleFirst = connections.sort((one, other) => one.active - other.active);
    for (const connection of idleFirst.slice(0, Math.floor(connections.length / 2))) this.#retire(connection);
  }

  #closeIdle(): void {
    const since = performance.now() - idleMs;
    for (const connection of [...this.#open].slice(1)) {
      if (connection.active === 0 && connection.movedAt < since) this.#retire(connection);
    }
  }

  #retire(connection: Connection): void {
    connection.retired = true;
    if (connection.active > 0) return;
    this.#open.delete(connection);
    connection.close();
  }
}
