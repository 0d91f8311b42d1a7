import { Connection, type ConnectionSettings } from './connection.ts';
import { ConnectionError, isOutOfConnections, NoReplyError } from './failures.ts';
import { BehindPooler } from './pooler.ts';

export interface ConnectionsOptions {
  readonly connection: ConnectionSettings;
  readonly size: number;
  readonly onChange: () => void;
  /** Called if an additional connection could not be opened. Open connections stay in use. */
  readonly onShortage: (error: Error) => void;
  readonly onUnreachable: (error: Error) => void;
}

/** Maximum number of pipelined statements per connection. Pipelining halves the cost of a statement. */
const maxPipelineDepth = 16;
/**
 * Time without a reply after which no more statements are sent on a connection, because the current statement may be
 * waiting for a lock.
 */
export const stalledMs = 100;
/**
 * How long the server may take to cancel a statement before the server is considered hung, as a multiple of the
 * timeout.
 */
const silenceTimeouts = 1.5;
/** Idle time after which a connection is closed, so that other programs can connect. One connection stays open. */
const idleMs = 10_000;

/** Opens connections as needed, and closes some of them if the server refuses new ones. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Connection>();
  readonly #reaper: NodeJS.Timeout;
  #opening = 0;
  /**
   * True if the last attempt to open a connection failed. As long as other connections are open, only `fill` then
   * retries, and no attempt begins while another one is pending. Otherwise, overlapping attempts could fail forever
   * without being noticed.
   */
  #isShort = false;
  #closed = false;
  /**
   * True if a pooler was detected. Later connections use the options for a pooler, which also work without a pooler.
   */
  #throughPooler = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#reaper = setInterval(() => this.#closeIdle(), idleMs / 2).unref();
  }

  get throughPooler(): boolean {
    return this.#throughPooler;
  }

  /**
   * Returns an idle connection, or the least busy connection that accepts more statements. Opens another connection if
   * none is idle.
   */
  choose(exclusive: boolean): Connection | undefined {
    const stalledSince = performance.now() - stalledMs;
    let best: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.retired || connection.exclusive) continue;
      if (connection.active === 0) return connection;
      // Through a pooler, the driver waits for each reply before it sends the next statement.
      const takesMore =
        !connection.throughPooler &&
        connection.active < maxPipelineDepth &&
        connection.movedAt > stalledSince;
      if (!exclusive && takesMore && connection.active < (best?.active ?? maxPipelineDepth))
        best = connection;
    }
    if (!this.#isFull() && !(this.#isShort && this.#open.size + this.#opening > 0)) this.#growInBackground();
    return best;
  }

  get facts(): { connections: number; busy: number } {
    const busy = [...this.#open].filter(({ active }) => active > 0);
    return { connections: this.#open.size, busy: busy.length };
  }

  /** Opens connections up to the limit. Rejects with `ConnectionError` if a connection cannot be opened. */
  async fill(): Promise<void> {
    try {
      while (!this.#isFull()) await this.#grow();
      this.#isShort = false;
    } catch (error) {
      this.#releaseSlot(error);
      throw error;
    }
  }

  renew(): void {
    for (const connection of this.#open) this.#retire(connection);
  }

  sent(connection: Connection, exclusive: boolean): void {
    if (connection.active === 0) connection.movedAt = performance.now();
    connection.active++;
    connection.exclusive = exclusive;
  }

  answered(connection: Connection): void {
    connection.active--;
    connection.exclusive = false;
    connection.movedAt = performance.now();
    if (connection.retired) this.#retire(connection);
  }

  /** Closes unresponsive connections. Their statements reject with `NoReplyError`. */
  endSilent(): void {
    const silentMs = this.#options.connection.statementTimeoutMs * silenceTimeouts;
    const silentSince = performance.now() - silentMs;
    for (const connection of this.#open) {
      if (connection.active === 0 || connection.untimed || connection.movedAt > silentSince) continue;
      const failure = new NoReplyError(`no response within ${silentMs} ms`);
      this.#open.delete(connection);
      connection.retired = true;
      connection.close(failure);
      // Other connections to the server may be dead as well.
      this.renew();
      this.#options.onUnreachable(failure);
    }
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaper);
    await Promise.all([...this.#open].map(({ sql }) => sql.close({ timeout: timeoutSeconds })));
  }

  #isFull(): boolean {
    return this.#open.size + this.#opening >= this.#options.size;
  }

  #growInBackground(): void {
    this.#grow().catch((error) => {
      this.#isShort = true;
      if (this.#open.size > 0) {
        this.#releaseSlot(error);
        this.#options.onShortage(error);
      } else if (this.#opening === 0) this.#options.onUnreachable(error);
    });
  }

  async #grow(): Promise<void> {
    let connection: Connection;
    this.#opening++;
    try {
      connection = await this.#openConnection();
    } catch (error) {
      throw new ConnectionError(error);
    } finally {
      this.#opening--;
    }
    connection.movedAt = performance.now();
    if (this.#open.size === 0) this.#isShort = false;
    if (this.#closed) connection.close();
    else this.#open.add(connection);
    this.#options.onChange();
  }

  async #openConnection(): Promise<Connection> {
    const connection = new Connection(this.#options.connection, {
      throughPooler: this.#throughPooler,
      onClose: (closed) => this.#removeClosed(closed),
    });
    try {
      await connection.open();
      return connection;
    } catch (error) {
      connection.close();
      if (!(error instanceof BehindPooler)) throw error;
      this.#throughPooler = true;
      return this.#openConnection();
    }
  }

  #removeClosed(connection: Connection): void {
    connection.retired = true;
    // `#grow` reports failed connection attempts.
    if (this.#open.delete(connection)) this.#options.onChange();
  }

  /** Closes half of the connections if the server has no free connection slots, so that other programs can connect. */
  #releaseSlot(error: unknown): void {
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
