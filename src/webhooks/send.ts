/** Sends requests to a webhook's endpoint, at an IP address that has been checked. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import packageJson from '../../package.json' with { type: 'json' };
import { parseEndpoint } from '../domain/endpoint.ts';
import { hostOf, locate, type Routes } from './endpoint.ts';
import { type Ending, type ExchangeError, endedMessage, exchange, type Reply } from './exchange.ts';
import { parseRetryAfter } from './retries.ts';

const defaultTimeoutMs = 15_000;
const maxHeaderBytes = 16_384;
const maxIdleEndpoints = 64;
/**
 * Maximum number of addresses that are tried for a host. The next address is tried only if connecting to the previous
 * one failed.
 */
const maxAddresses = 4;
const idleConnections = { keepAlive: true, timeout: 2_000, maxFreeSockets: 4, scheduling: 'lifo' } as const;
const userAgent = `AnimalStore/${packageJson.version}`;

export interface Delivery {
  readonly url: string;
  /** Headers in addition to Host, User-Agent, Content-Type and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON body. */
  readonly body: string | Uint8Array;
  /** Timeout for the whole attempt, from resolving the host to the end of the response body. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly milliseconds: number;
  /** The first 1,024 bytes of the response body, as text. */
  readonly body: string;
  /** Value of Retry-After in seconds, at most a day. */
  readonly retryAfterSeconds: number | undefined;
}

export interface Failure {
  /**
   * `url` and `blocked`: requests to the URL are not allowed. `response`: the response is missing, truncated or not
   * HTTP.
   */
  readonly error: 'url' | 'dns' | 'blocked' | ExchangeError['error'];
  readonly message: string;
  readonly milliseconds: number;
}

export type Outcome = Answer | Failure;

export interface SenderOptions extends Routes {
  /** Returns the current time (Unix ms), to convert a date in Retry-After. */
  readonly now: () => number;
  /** CA certificate (PEM) to trust instead of the system's CA certificates. */
  readonly authority?: string;
}

type Result = Reply | Pick<Failure, 'error' | 'message'>;

/**
 * Connects to the address that was checked, but uses the URL's host in the Host header and for TLS. If the host were
 * resolved again, it could resolve to an internal address.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #plain = new HttpAgent(idleConnections);
  readonly #secure = new HttpsAgent(idleConnections);

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async send({ url, timeoutMs = defaultTimeoutMs, signal, ...message }: Delivery): Promise<Outcome> {
    const start = performance.now();
    const ending = new AbortController();
    const end = (reason: Ending) => ending.abort(reason);
    const timer = setTimeout(end, timeoutMs, 'timeout');
    const abort = () => end('aborted');
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    const result = await this.#deliver(url, message, ending.signal);
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    const milliseconds = Math.round(performance.now() - start);
    if ('error' in result) return { error: result.error, message: result.message, milliseconds };
    const { status, body, retryAfter } = result;
    const retryAfterSeconds = retryAfter && parseRetryAfter(retryAfter, this.#options.now());
    return { status, milliseconds, body, retryAfterSeconds: retryAfterSeconds || undefined };
  }

  /** Closes idle connections. */
  [Symbol.dispose](): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #deliver(
    text: string,
    message: Pick<Delivery, 'headers' | 'body'>,
    ending: AbortSignal,
  ): Promise<Result> {
    const url = parseEndpoint(text);
    if (typeof url === 'string') return { error: 'url', message: url };
    const located = await Promise.race([locate(url, this.#options), ended(ending)]);
    if ('error' in located) return { error: located.error, message: located.message };
    let result: Result = { error: 'connect', message: 'no address' };
    for (const address of located.addresses.slice(0, maxAddresses)) {
      result = await this.#sendTo(address, url, message, ending);
      if (!('error' in result && result.error === 'connect')) break;
    }
    return result;
  }

  async #sendTo(
    address: string,
    url: URL,
    { headers, body }: Pick<Delivery, 'headers' | 'body'>,
    ending: AbortSignal,
  ): Promise<Reply | ExchangeError> {
    const host = hostOf(url);
    const { authority } = this.#options;
    const options = {
      protocol: url.protocol,
      host: address,
      port: url.port,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        host: url.host,
        'user-agent': userAgent,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
      maxHeaderSize: maxHeaderBytes,
      servername: isIP(host) === 0 ? host : '',
      // Ignores NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: true,
      ...(authority !== undefined && { ca: authority }),
    };
    const result = await exchange({ ...options, agent: this.#agentOf(url) }, body, ending);
    const isStale = 'error' in result && result.error === 'response' && result.isReused;
    const last = isStale ? await exchange({ ...options, agent: false }, body, ending) : result;
    // The owner of a webhook must not learn the address of an internal host.
    return 'error' in last ? { ...last, message: last.message.replaceAll(address, host) } : last;
  }

  /**
   * Returns the agent that reuses connections, or false if too many endpoints have idle connections. The request then
   * opens a new connection.
   */
  #agentOf({ protocol }: URL): HttpAgent | false {
    const agent = protocol === 'https:' ? this.#secure : this.#plain;
    return Object.keys(agent.freeSockets).length < maxIdleEndpoints && agent;
  }
}

function ended(ending: AbortSignal): Promise<Pick<Failure, 'error' | 'message'>> {
  const { promise, resolve } = Promise.withResolvers<Pick<Failure, 'error' | 'message'>>();
  const end = () =>
    resolve({ error: ending.reason, message: endedMessage(ending.reason, 'resolution of the host') });
  ending.addEventListener('abort', end);
  if (ending.aborted) end();
  return promise;
}
