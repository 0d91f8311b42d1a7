import { RedisClient } from 'bun';
import { Breaker } from '../breaker.ts';
import { ConcurrencyLimit, Overloaded } from '../concurrency-limit.ts';
import type { Notice } from '../outage.ts';
import { ReplyTimeouts } from '../reply-timeouts.ts';
import { RoundTrips } from '../round-trips.ts';
import { StorageUnavailable } from '../storage.ts';
import { connectionFailure } from './connection-failure.ts';
import type { ScriptName } from './scripts.ts';

export interface LinkOptions {
  readonly url: string;
  /** How long Redis may be silent while it is asked; it counts as gone after it. */
  readonly timeoutMs: number;
  readonly scripts: ReadonlyMap<ScriptName, string>;
  readonly notice: Notice;
  /** Called on each new connection before it is used; it has to ask Redis to write something. */
  readonly onConnect: (run: Run) => Promise<unknown>;
}

/** Runs a script: one round trip. */
export type Run = (
  script: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** Redis was asked and did not answer: whether it did it is not known. */
export class NoAnswer extends StorageUnavailable {}

const probeEveryMs = 250;
const connectTimeoutMs = 1_000;

/** As much as keeps Redis busy while a turn of the event loop takes; what is more than that waits here. */
const requestBounds = { underWay: 1_000, waiting: 10_000, waitMs: 1_000 };

interface Connection {
  readonly client: RedisClient;
  readonly run: Run;
}

/** One pipelined connection to Redis, given up at the first sign of trouble and made anew until it works. */
export class RedisLink implements Disposable {
  readonly #options: LinkOptions;
  readonly #timeouts: ReplyTimeouts;
  readonly #breaker: Breaker;
  readonly #requests = new ConcurrencyLimit(requestBounds);
  readonly roundTrips = new RoundTrips();
  #connection: Connection | undefined;

  constructor(options: LinkOptions) {
    const { timeoutMs, notice } = options;
    this.#options = options;
    const silent = `no response within ${timeoutMs} ms`;
    this.#timeouts = new ReplyTimeouts(
      timeoutMs,
      () => new NoAnswer(`Redis: ${silent}`),
      () => this.#giveUp(silent),
    );
    this.#breaker = new Breaker({ name: 'Redis', probe: () => this.#connect(), probeEveryMs, notice });
  }

  /** Resolves when it is connected or known not to be; in that case it goes on trying. */
  async open(): Promise<void> {
    await this.#connect().catch((error) => this.#breaker.trip(error));
  }

  /** Why Redis does not work; undefined while it does. */
  get trouble(): string | undefined {
    return this.#breaker.trouble;
  }

  /** The version of the server; undefined when it does not tell. */
  async version(): Promise<string | undefined> {
    const asked = this.#connection?.client.send('INFO', ['server']);
    const info = asked && (await this.#timeouts.within(asked).catch(() => undefined));
    return /^(?:redis|valkey)_version:(\S+)/m.exec(String(info))?.[1];
  }

  /** Whether more is asked than Redis is told at once. */
  get isBusy(): boolean {
    return this.#requests.isBusy;
  }

  /** What Redis says; what this instance says alone, when Redis does not. Rejects with `Overloaded`, as `ask` does. */
  async shared<T>(together: () => Promise<T>, fallback: () => Promise<T>): Promise<T> {
    if (this.trouble !== undefined) return fallback();
    try {
      return await together();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || error instanceof Overloaded) throw error;
      return fallback();
    }
  }

  /**
   * Runs a script for a request. Rejects with `Overloaded` when too much is asked at once, having asked nothing;
   * else as `run` does.
   */
  ask(...command: Parameters<Run>): Promise<unknown> {
    return this.#requests.run(() => this.run(...command));
  }

  /**
   * Rejects, within the time-out, with `NoAnswer` when it is not known whether Redis did it, with another
   * `StorageUnavailable` when it did not.
   */
  async run(...command: Parameters<Run>): Promise<unknown> {
    const connection = this.#connection;
    if (connection === undefined) throw new StorageUnavailable(this.trouble ?? 'Redis is not connected');
    const startedAt = performance.now();
    try {
      return await this.#timeouts.within(connection.run(...command));
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      if (connection === this.#connection) this.#giveUp(error);
      const Kind = wasDeclined(error) ? StorageUnavailable : NoAnswer;
      throw new Kind(`Redis: ${(error as Error).message}`, error);
    } finally {
      this.roundTrips.add(startedAt);
    }
  }

  [Symbol.dispose](): void {
    this.#breaker[Symbol.dispose]();
    this.#connection?.client.close();
    this.#connection = undefined;
  }

  /** The reason is told before the connection is closed: closing rejects what is under way, for a reason of its own. */
  #giveUp(reason: unknown): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#breaker.trip(reason);
    this.#timeouts.abandon();
    connection?.client.close();
  }

  async #connect(): Promise<void> {
    const { url, scripts, onConnect } = this.#options;
    const client = new RedisClient(url, {
      autoReconnect: false,
      enableOfflineQueue: false,
      connectionTimeout: connectTimeoutMs,
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      client.close();
    }, connectTimeoutMs);
    try {
      await client.connect();
      const connection = { client, run: await loaded(client, scripts) };
      // In no more time than requests have: a server that is too slow for them is not taken back.
      await this.#timeouts.within(onConnect(connection.run));
      client.onclose = () =>
        connection === this.#connection && this.#giveUp('connection closed by the server');
      if (!client.connected) throw new Error('connection closed by the server');
      this.#connection = connection;
    } catch (error) {
      client.close();
      throw await this.#explained(error, isLate);
    } finally {
      clearTimeout(timer);
    }
  }

  async #explained(error: unknown, isLate: boolean): Promise<Error> {
    if (isLate) return new Error(`no response within ${connectTimeoutMs} ms`);
    if (error instanceof StorageUnavailable) return error.cause as Error;
    if (wasDeclined(error)) return error as Error;
    const reason = await connectionFailure(this.#options.url, connectTimeoutMs);
    return new Error(reason ?? (error as Error).message, { cause: error });
  }
}

/** Whether an error is Redis' answer: then it did nothing. */
function wasDeclined(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ERR_REDIS_SERVER_ERROR' || code === 'ERR_REDIS_INVALID_COMMAND';
}

/** Loads the scripts, and returns what runs them by their names. */
async function loaded(client: RedisClient, scripts: ReadonlyMap<ScriptName, string>): Promise<Run> {
  const loading = [...scripts].map(async ([name, text]) => {
    return [name, String(await client.send('SCRIPT', ['LOAD', text]))] as const;
  });
  const hashes = new Map(await Promise.all(loading));
  return async (script, keys, args) => {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    try {
      return await client.send('EVALSHA', [hashes.get(script) ?? '', ...rest]);
    } catch (error) {
      // Somebody emptied the script cache: EVAL fills it again.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return client.send('EVAL', [scripts.get(script) ?? '', ...rest]);
    }
  };
}
