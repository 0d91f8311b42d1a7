import { RedisClient } from 'bun';
import { Breaker } from '../breaker.ts';
import type { Notice } from '../outage.ts';
import { RoundTrips } from '../round-trips.ts';
import { StorageUnavailable } from '../storage.ts';
import { ConcurrencyLimit, Overloaded } from './concurrency-limit.ts';
import { connectionFailure } from './connection-failure.ts';
import { recognized } from './replies.ts';
import { ReplyTimeouts } from './reply-timeouts.ts';
import type { ScriptName } from './scripts.ts';

export interface LinkOptions {
  readonly url: string;
  /** How long Redis may be silent with requests pending, before it counts as down. */
  readonly timeoutMs: number;
  readonly scripts: ReadonlyMap<ScriptName, string>;
  readonly notice: Notice;
  /** Called on each new connection before it is used. Has to run a script that writes, to notice a read-only Redis. */
  readonly onConnect: (run: Run) => Promise<unknown>;
}

export type Run = (
  script: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** Redis did not reply: it is unknown whether the script ran. */
export class NoAnswer extends StorageUnavailable {}

const probeEveryMs = 250;
const connectTimeoutMs = 1_000;

/** Enough to keep Redis busy during an event-loop tick; further requests wait here. */
const requestBounds = { inFlight: 1_000, waiting: 10_000, waitMs: 1_000 };

interface Connection {
  readonly client: RedisClient;
  readonly run: Run;
}

/** One pipelined connection to Redis, closed at the first failure and reopened until it works. */
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

  /** Resolves when it is connected, or when the first attempt has failed; further ones follow. */
  async open(): Promise<void> {
    await this.#connect().catch((error) => this.#breaker.trip(error));
  }

  get trouble(): string | undefined {
    return this.#breaker.trouble;
  }

  async version(): Promise<string | undefined> {
    const asked = this.#connection?.client.send('INFO', ['server']);
    const info = asked && (await this.#timeouts.within(asked).catch(() => undefined));
    return /^(?:redis|valkey)_version:(\S+)/m.exec(String(info))?.[1];
  }

  get isBusy(): boolean {
    return this.#requests.isBusy;
  }

  /** The result of Redis, or `fallback`'s while Redis is down. Rejects with `Overloaded` as `ask` does. */
  async shared<T>(together: () => Promise<T>, fallback: () => Promise<T>): Promise<T> {
    if (this.trouble !== undefined) return fallback();
    try {
      return await together();
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || error instanceof Overloaded) throw error;
      return fallback();
    }
  }

  /** As `run`. Rejects with `Overloaded`, having sent nothing, if too many requests wait. */
  ask(...command: Parameters<Run>): Promise<unknown> {
    return this.#requests.run(() => this.run(...command));
  }

  /** Rejects with `NoAnswer` if it is unknown whether the script ran, else with another `StorageUnavailable`. */
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

  /** Reports the reason before it closes the connection, because that rejects pending requests with another reason. */
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
      // With the time-out of requests: a server that is too slow for them does not count as recovered.
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

async function loaded(client: RedisClient, scripts: ReadonlyMap<ScriptName, string>): Promise<Run> {
  const loading = [...scripts].map(async ([name, text]) => {
    return [name, String(await client.send('SCRIPT', ['LOAD', text]))] as const;
  });
  const hashes = new Map(await Promise.all(loading));
  return async (script, keys, args) => {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    try {
      return recognized(script, await client.send('EVALSHA', [hashes.get(script) ?? '', ...rest]));
    } catch (error) {
      // The script cache was flushed; EVAL fills it again.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return recognized(script, await client.send('EVAL', [scripts.get(script) ?? '', ...rest]));
    }
  };
}
