import { RedisClient } from 'bun';
import { Breaker, type Notice } from '../breaker.ts';
import { Overdue } from '../overdue.ts';
import { StorageUnavailable } from '../storage.ts';
import type { ScriptName } from './scripts.ts';

export interface LinkOptions {
  readonly url: string;
  /** How long one answer may take; Redis counts as gone after it. */
  readonly timeoutMs: number;
  readonly scripts: ReadonlyMap<ScriptName, string>;
  readonly notice: Notice;
  /** Called on each new connection before it is used. */
  readonly onConnect: (run: Run) => Promise<unknown>;
}

/** Runs a script: one round trip. */
export type Run = (
  script: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

const probeEveryMs = 250;
const connectTimeoutMs = 1_000;

interface Connection {
  readonly client: RedisClient;
  readonly run: Run;
}

/** One pipelined connection to Redis, given up at the first sign of trouble and made anew until it works. */
export class RedisLink implements Disposable {
  readonly #options: LinkOptions;
  readonly #overdue: Overdue;
  readonly #breaker: Breaker;
  #connection: Connection | undefined;

  constructor(options: LinkOptions) {
    const { timeoutMs, notice } = options;
    this.#options = options;
    const late = () => new StorageUnavailable(`Redis does not answer within ${timeoutMs} ms`);
    this.#overdue = new Overdue(timeoutMs, late, () =>
      this.#giveUp(`does not answer within ${timeoutMs} ms`),
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

  /** Rejects with `StorageUnavailable`, within the time-out, when Redis does not do it. */
  async run(...command: Parameters<Run>): Promise<unknown> {
    const connection = this.#connection;
    if (connection === undefined) throw new StorageUnavailable(this.trouble ?? 'Redis is not connected');
    try {
      return await this.#overdue.within(connection.run(...command));
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      if (connection === this.#connection) this.#giveUp(error);
      throw new StorageUnavailable(`Redis: ${(error as Error).message}`, error);
    }
  }

  [Symbol.dispose](): void {
    this.#breaker[Symbol.dispose]();
    this.#connection?.client.close();
    this.#connection = undefined;
  }

  #giveUp(reason: unknown): void {
    this.#connection?.client.close();
    this.#connection = undefined;
    this.#breaker.trip(reason);
  }

  async #connect(): Promise<void> {
    const client = new RedisClient(this.#options.url, {
      autoReconnect: false,
      enableOfflineQueue: false,
      connectionTimeout: connectTimeoutMs,
    });
    const timer = setTimeout(() => client.close(), connectTimeoutMs);
    try {
      await client.connect();
      const connection = { client, run: await loaded(client, this.#options.scripts) };
      await this.#options.onConnect(connection.run);
      client.onclose = (error) => connection === this.#connection && this.#giveUp(error);
      if (!client.connected) throw new Error('Connection closed');
      this.#connection = connection;
    } catch (error) {
      client.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Loads the scripts, and returns what runs them by their names. */
async function loaded(client: RedisClient, scripts: ReadonlyMap<ScriptName, string>): Promise<Run> {
  const hashes = new Map<ScriptName, string>();
  for (const [name, text] of scripts) hashes.set(name, String(await client.send('SCRIPT', ['LOAD', text])));
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
