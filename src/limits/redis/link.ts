import { RedisClient } from 'bun';
import { CircuitBreaker } from '../../outages/circuit-breaker.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import type { RoundTripStatistics } from '../../outages/round-trip-statistics.ts';
import { parseRedirection } from './cluster/redirection.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { diagnoseConnection } from './diagnose-connection.ts';
import { expectReply } from './expect-reply.ts';
import { ReplyTimeouts } from './reply-timeouts.ts';
import type { ScriptName } from './scripts.ts';

export interface LinkOptions {
  /** Name shown to operators. */
  readonly name: string;
  /** URLs to try in order until a connection works. */
  readonly urls: readonly string[];
  /** Time without a reply to pending requests after which Redis is considered down. */
  readonly timeoutMs: number;
  readonly scripts: ReadonlyMap<ScriptName, string>;
  readonly notice: Notify;
  readonly roundTrips: RoundTripStatistics;
  /**
   * Called for each new connection before the connection is used. Must run a script that writes, to detect a read-only
   * Redis.
   */
  readonly onConnect: (connection: Connection) => Promise<unknown>;
  /** True for a node of a cluster, where a redirection is not a failure. */
  readonly isNode: boolean;
}

export type RunScript = (
  script: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
  /** Sends ASKING first, for a node that is importing the slot. */
  isAsking?: boolean,
) => Promise<unknown>;

/** Redis did not reply: it is unknown whether the script ran. */
export class NoReplyError extends StorageUnavailable {}

const probeEveryMs = 250;
export const connectTimeoutMs = 1_000;

/** Enough requests in flight to keep Redis busy during an event-loop tick. Additional requests wait in the queue. */
const requestBounds = { inFlight: 1_000, waiting: 10_000, waitMs: 1_000 };

export interface Connection {
  readonly url: string;
  readonly client: RedisClient;
  readonly run: RunScript;
  /** The server's reply to INFO; empty if the user may not run INFO. */
  readonly info: string;
}

/**
 * A pipelined connection to Redis. Any failure closes the connection; it is then reopened repeatedly until it works.
 */
export class RedisLink implements Disposable {
  readonly #options: LinkOptions;
  readonly #timeouts: ReplyTimeouts;
  readonly #breaker: CircuitBreaker;
  readonly #requests = new ConcurrencyLimit(requestBounds);
  #connection: Connection | undefined;
  #opening: Promise<void> | undefined;
  #attempts = 0;

  constructor(options: LinkOptions) {
    const { name, timeoutMs, notice } = options;
    this.#options = options;
    const silent = `no response within ${timeoutMs} ms`;
    this.#timeouts = new ReplyTimeouts(
      timeoutMs,
      () => new NoReplyError(`Redis: ${silent}`),
      () => this.#giveUp(silent),
    );
    this.#breaker = new CircuitBreaker({ name, probe: () => this.#connect(), probeEveryMs, notice });
  }

  /** Resolves when connected, or when the first attempt has failed. Later attempts continue in the background. */
  open(): Promise<void> {
    this.#opening ??= this.#connect().catch((error) => this.#breaker.trip(error));
    return this.#opening;
  }

  get trouble(): string | undefined {
    return this.#breaker.trouble;
  }

  get version(): string | undefined {
    return /^(?:redis|valkey)_version:(\S+)/m.exec(this.#connection?.info ?? '')?.[1];
  }

  get detectsProcess(): boolean {
    return !this.#options.isNode && this.#connection?.info !== '';
  }

  get isBusy(): boolean {
    return this.#requests.isBusy;
  }

  get isIdle(): boolean {
    return this.#timeouts.pending === 0;
  }

  /** Runs work that calls Redis. Rejects with `OverloadedError` before starting the work if too much work is queued. */
  limited<T>(work: () => Promise<T>): Promise<T> {
    return this.#requests.run(work);
  }

  /**
   * Runs a script. Rejects with `OverloadedError` before sending anything if too many requests are queued, and otherwise
   * like `run`.
   */
  ask(...command: Parameters<RunScript>): Promise<unknown> {
    return this.limited(() => this.run(...command));
  }

  /**
   * Rejects with `NoReplyError` if it is unknown whether the script ran, with `Redirection` if another node must run the
   * script, and otherwise with another `StorageUnavailable`.
   */
  async run(...command: Parameters<RunScript>): Promise<unknown> {
    if (this.#connection === undefined && this.trouble === undefined) await this.#opening;
    const connection = this.#connection;
    if (connection === undefined) throw new StorageUnavailable(this.trouble ?? 'Redis is not connected');
    const startedAt = performance.now();
    try {
      return await this.#timeouts.within(connection.run(...command));
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      const redirection = this.#options.isNode ? parseRedirection(error, connection.url) : undefined;
      if (redirection !== undefined) throw redirection;
      if (connection === this.#connection) this.#giveUp(error);
      const Kind = isErrorReply(error) ? StorageUnavailable : NoReplyError;
      throw new Kind(`Redis: ${(error as Error).message}`, error);
    } finally {
      this.#options.roundTrips.add(startedAt);
    }
  }

  /** Permanently closes the link to a server that is no longer needed, and ends any current outage. */
  retire(reason: string): void {
    this.#breaker.retire(reason);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#breaker[Symbol.dispose]();
    this.#connection?.client.close();
    this.#connection = undefined;
  }

  /** Reports the reason first, because closing the connection rejects pending requests with a different reason. */
  #giveUp(reason: unknown): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#breaker.trip(reason);
    this.#timeouts.abandon();
    connection?.client.close();
  }

  async #connect(): Promise<void> {
    const { urls, scripts, onConnect } = this.#options;
    const url = urls[this.#attempts++ % urls.length] as string;
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
      const run = await loadScripts(client, scripts);
      const info = await client.send('INFO', []).then(String, () => '');
      const connection = { url, client, run, info };
      // Uses the request timeout, so that a server that is too slow for requests is not considered recovered.
      await this.#timeouts.within(onConnect(connection));
      client.onclose = () =>
        connection === this.#connection && this.#giveUp('connection closed by the server');
      if (!client.connected) throw new Error('connection closed by the server');
      this.#connection = connection;
    } catch (error) {
      client.close();
      throw await explainError(error, isLate, url);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function explainError(error: unknown, isLate: boolean, url: string): Promise<Error> {
  if (isLate) return new Error(`no response within ${connectTimeoutMs} ms`);
  if (error instanceof StorageUnavailable) return error.cause as Error;
  if (isErrorReply(error)) return error as Error;
  const reason = await diagnoseConnection(url, connectTimeoutMs);
  return new Error(reason ?? (error as Error).message, { cause: error });
}

/** Whether the error is a reply from Redis, in which case nothing was changed. */
function isErrorReply(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ERR_REDIS_SERVER_ERROR' || code === 'ERR_REDIS_INVALID_COMMAND';
}

async function loadScripts(
  client: RedisClient,
  scripts: ReadonlyMap<ScriptName, string>,
): Promise<RunScript> {
  const loading = [...scripts].map(async ([name, text]) => {
    return [name, String(await client.send('SCRIPT', ['LOAD', text]))] as const;
  });
  const hashes = new Map(await Promise.all(loading));
  return async (script, keys, args, isAsking = false) => {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    const send = (command: string, text = '') => {
      // ASKING applies to the next command on the connection. If ASKING fails, that command fails as well.
      if (isAsking) client.send('ASKING', []).catch(() => undefined);
      return client.send(command, [text, ...rest]);
    };
    try {
      return expectReply(script, await send('EVALSHA', hashes.get(script)));
    } catch (error) {
      // The script cache was flushed. EVAL adds the script again.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw rewordForOperators(error);
      const evaluated = send('EVAL', scripts.get(script)).catch((again) =>
        Promise.reject(rewordForOperators(again)),
      );
      return expectReply(script, await evaluated);
    }
  };
}

/** Where the error occurred in a script, which Redis appends to its messages. */
const scriptPosition = / script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/** Rewords an error reply of a script, so that an operator knows what to do. */
function rewordForOperators(error: unknown): unknown {
  if (!(error instanceof Error) || !scriptPosition.test(error.message)) return error;
  error.message = error.message.replace(scriptPosition, '');
  if (error.message.startsWith('OOM ')) {
    error.message =
      'maxmemory is reached, so that Redis rejects changes (OOM). Raise maxmemory, or remove other data from this Redis';
  }
  return error;
}
