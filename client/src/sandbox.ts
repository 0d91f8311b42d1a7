/** Starts and controls a sandbox of the service for tests in Node.js, Bun or Deno. */
import { spawn } from 'node:child_process';
import { AnimalStore } from './animal-store.js';
import type { AnimalStoreOptions } from './settings.js';

export interface SandboxOptions {
  /** Address of a running sandbox in which to open an isolated store. By default, a new sandbox is started. */
  readonly url?: string | undefined;
  /** The program to start and its first arguments. Defaults to `['animal-store']`. */
  readonly command?: readonly string[] | undefined;
  /** `.csv` or `.ndjson` file with the initial animals. */
  readonly importFile?: string | undefined;
}

/** Options for a new account. */
export interface NewAccount {
  /** Defaults to `free`. */
  readonly plan?: 'free' | 'pro' | 'business' | 'enterprise' | undefined;
  /** Requests per minute; only for the `enterprise` plan. */
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
  /** Scopes of the key, such as `pets:read`. Defaults to all scopes. */
  readonly scopes?: readonly string[] | undefined;
  /** Lifetime of the key. By default, the key does not expire. */
  readonly expiresInSeconds?: number | undefined;
}

/** An account with its key. */
export interface SandboxAccount {
  readonly account: number;
  readonly plan: string;
  readonly perMinute: number;
  readonly perDay: number;
  readonly key: string;
}

/** A request that the sandbox received. */
export interface SandboxRequest {
  readonly number: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly operation: string | null;
  readonly account: number | null;
  readonly plan: string | null;
  readonly requestId: string;
  /** Null if the connection was closed without a response. */
  readonly status: number | null;
  readonly code: string | null;
  readonly fault: string | null;
}

/** An account for a test, with separate faults and recorded requests. */
export interface TestAccount extends SandboxAccount {
  /** Creates a client that uses the account's key. */
  client(options?: Partial<AnimalStoreOptions>): AnimalStore;
  /**
   * Injects faults such as `status=503; times=2` into the account's requests and webhooks. An empty list
   * removes them.
   */
  misbehave(faults: string | readonly string[]): Promise<void>;
  /** Revokes the key, which also ends its event streams. */
  revokeKey(): Promise<void>;
  /** Returns the account's requests, oldest first. */
  requests(): Promise<SandboxRequest[]>;
}

interface Opened {
  readonly url: string;
  readonly accounts: readonly SandboxAccount[];
}

/** Starts a sandbox, or opens an isolated store in a running sandbox. Rejects if this fails. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return options.url === undefined ? started(options) : openStore(options.url);
}

export class Sandbox {
  readonly url: string;
  /** One account per plan, with a key that has all scopes. */
  readonly accounts: readonly SandboxAccount[];
  /** Stops the sandbox and deletes its store. */
  readonly stop: () => Promise<void>;

  readonly #processUrl: string;

  /** @internal */
  constructor({ url, accounts }: Opened, stop: () => Promise<void>, processUrl = url) {
    this.#processUrl = processUrl;
    this.url = url;
    this.accounts = accounts;
    this.stop = stop;
  }

  /** Creates an account with a key. All accounts share animals, categories, orders and inventory. */
  async account(account: NewAccount = {}): Promise<TestAccount> {
    const made = await this.#call<SandboxAccount>('POST', '/accounts', account);
    return {
      ...made,
      client: (options) => new AnimalStore({ url: this.url, key: made.key, ...options }),
      misbehave: (faults) => this.#call('POST', '/faults', { faults, account: made.account }),
      revokeKey: () => this.#call('POST', '/keys/revoke', { key: made.key }),
      requests: () => this.#call('GET', `/requests?account=${made.account}`),
    };
  }

  /** Opens an isolated store in the same process, with separate accounts, faults, clock and requests. */
  openStore(): Promise<Sandbox> {
    return openStore(this.#processUrl);
  }

  /** Injects faults such as `webhook=duplicate` into all requests and webhooks. An empty list removes them. */
  misbehave(faults: string | readonly string[]): Promise<void> {
    return this.#call('POST', '/faults', { faults });
  }

  /** Closes all connections and refuses new ones for 1 to 600 seconds. */
  refuse(seconds: number): Promise<void> {
    return this.#call('POST', '/refuse', { seconds });
  }

  /** Returns all requests, oldest first. */
  requests(): Promise<SandboxRequest[]> {
    return this.#call('GET', '/requests');
  }

  /** Advances the clock by a number of seconds or to a date. Only `reset` sets the clock back. */
  advance(by: number | Date): Promise<void> {
    const body = typeof by === 'number' ? { advanceSeconds: by } : { to: by.toISOString() };
    return this.#call('POST', '/clock', body);
  }

  /** Restores the initial state: animals, accounts, webhooks, limits, faults, clock and requests. */
  reset(): Promise<void> {
    return this.#call('POST', '/reset');
  }

  #call<Data>(method: string, path: string, body?: object): Promise<Data> {
    return call(this.url, method, path, body);
  }
}

async function call<Data>(url: string, method: string, path: string, body?: object): Promise<Data> {
  const response = await fetch(`${url}/sandbox${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}/sandbox${path}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as Data;
}

async function openStore(url: string): Promise<Sandbox> {
  const opened = await call<Opened & { readonly id: number }>(url, 'POST', '/stores');
  return new Sandbox(opened, () => call(url, 'DELETE', `/stores/${opened.id}`), url);
}

async function started({ command = ['animal-store'], importFile }: SandboxOptions): Promise<Sandbox> {
  const [program = '', ...first] = command;
  const file = importFile === undefined ? [] : ['--import', importFile];
  const child = spawn(program, [...first, 'sandbox', '--port', '0', '--json', ...file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => void child.kill();
  process.once('exit', end);
  let output = '';
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const failed = (reason: string) => new Error(`The sandbox did not start: ${reason}`);
  const line = await new Promise<string>((resolve, reject) => {
    child.once('error', ({ message }) => reject(failed(message)));
    child.once('close', (code) => reject(failed(`it exited with code ${code}. ${output}${errors}`)));
    child.stdout.on('data', (text) => {
      output += text;
      if (output.includes('\n')) resolve(output);
    });
  });
  if (!line.startsWith('{')) {
    end();
    throw failed(`it printed ${line}`);
  }
  const opened: Opened = JSON.parse(line);
  return new Sandbox(opened, () => {
    process.removeListener('exit', end);
    child.kill();
    return ended;
  });
}
