/** Sends requests to a webhook's endpoint, at an IP address that has been checked. */
import { isIP } from 'node:net';
import packageJson from '../../package.json' with { type: 'json' };
import { parseEndpoint } from '../domain/endpoint.ts';
import {
  type AbortReason,
  abortedMessage,
  abortedPhaseError,
  type Connection,
  IdleConnections,
  limitTls,
  openConnection,
  overLimitMessage,
  type PhaseError,
  type Target,
} from './connection.ts';
import { type NetworkPolicy, resolveHost, urlHost } from './endpoint.ts';
import type { ResolveFor } from './resolver.ts';
import { type ReceivedResponse, ResponseReader } from './response-reader.ts';
import { ThreadTimeBudget } from './thread-time-budget.ts';

export const defaultTimeoutMs = 15_000;
/**
 * Maximum number of addresses that are tried for a host. The next address is tried only if connecting to the previous
 * one failed.
 */
const maxAddresses = 4;
const userAgent = `AnimalStore/${packageJson.version}`;

export interface Delivery {
  readonly accountId: number;
  readonly url: string;
  /** Headers in addition to Host, User-Agent, Content-Type and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** A JSON body. */
  readonly body: string | Uint8Array;
  /** Timeout for the whole attempt, from resolving the host to the end of the response body. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

interface ReceiverResponse {
  readonly status: number;
  readonly milliseconds: number;
  /** The first 1,024 bytes of the response body, as text. */
  readonly body: string;
  /** Value of the Retry-After header. */
  readonly retryAfter: string | undefined;
}

export interface Failure {
  /**
   * `url` and `blocked`: requests to the URL are not allowed. `response`: the response is missing, truncated or not
   * HTTP.
   */
  readonly error: 'url' | 'dns' | 'blocked' | PhaseError['error'];
  readonly message: string;
  readonly milliseconds: number;
}

export type Outcome = ReceiverResponse | Failure;

export interface SenderOptions extends Pick<NetworkPolicy, 'allowed'> {
  readonly resolve: ResolveFor;
  /** The time of this thread that the receivers of accounts use. */
  readonly time?: ThreadTimeBudget;
  /** CA certificate (PEM) to trust instead of the system's CA certificates. */
  readonly authority?: string;
}

interface Destination {
  readonly address: string;
  readonly url: URL;
  readonly accountId: number;
}

type Result = ReceivedResponse | Pick<Failure, 'error' | 'message'>;

/**
 * Connects to the address that was checked, but uses the URL's host in the Host header and for TLS. If the host were
 * resolved again, it could resolve to an internal address.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #time: ThreadTimeBudget;
  readonly #idle = new IdleConnections();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#time = options.time ?? new ThreadTimeBudget();
  }

  /** Never rejects. */
  async send({ timeoutMs = defaultTimeoutMs, signal, ...message }: Delivery): Promise<Outcome> {
    const start = performance.now();
    const abortController = new AbortController();
    const end = (reason: AbortReason) => abortController.abort(reason);
    const timer = setTimeout(end, timeoutMs, 'timeout');
    const abort = () => end('aborted');
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    const result = await this.#deliver(message, abortController.signal);
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    const milliseconds = Math.round(performance.now() - start);
    if ('error' in result) return { error: result.error, message: result.message, milliseconds };
    return { ...result, milliseconds };
  }

  /** Closes idle connections. */
  [Symbol.dispose](): void {
    this.#idle[Symbol.dispose]();
  }

  async #deliver(message: Omit<Delivery, 'timeoutMs' | 'signal'>, abortSignal: AbortSignal): Promise<Result> {
    const { accountId } = message;
    const url = parseEndpoint(message.url);
    if (typeof url === 'string') return { error: 'url', message: url };
    const located = await Promise.race([
      resolveHost(url, networkAccessFor(this.#options, accountId)),
      waitForAbort(abortSignal),
    ]);
    if ('error' in located) return { error: located.error, message: located.message };
    const request = encodeRequest(url, message);
    let result: Result = { error: 'connect', message: 'no address' };
    for (const address of located.addresses.slice(0, maxAddresses)) {
      result = await this.#sendTo({ address, url, accountId }, request, abortSignal);
      if (!('error' in result && result.error === 'connect')) break;
    }
    return result;
  }

  async #sendTo(destination: Destination, request: Uint8Array, abortSignal: AbortSignal): Promise<Result> {
    const { address, url } = destination;
    const host = urlHost(url);
    const endpoint = `${address} ${url.origin}`;
    const keep = (connection: Connection) => this.#idle.add(endpoint, connection);
    const send = (connection: Connection) => exchange(connection, request, keep, abortSignal);
    const idle = this.#idle.take(endpoint);
    let result: ReceivedResponse | PhaseError | undefined = idle && (await send(idle));
    // The receiver may have closed an idle connection before the request arrived, but not if it sent anything.
    const mayBeStale =
      result !== undefined && 'error' in result && result.error === 'response' && result.isSilent === true;
    if (mayBeStale) this.#idle.distrust(endpoint);
    if (result === undefined || mayBeStale) {
      const opened = await this.#open(destination, abortSignal);
      result = 'error' in opened ? opened : await send(opened);
    }
    // The owner of a webhook must not learn the address of an internal host.
    return 'error' in result ? { ...result, message: result.message.replaceAll(address, host) } : result;
  }

  async #open(
    { address, url, accountId }: Destination,
    abortSignal: AbortSignal,
  ): Promise<Connection | PhaseError> {
    const meter = this.#time.meter(accountId);
    const message = overLimitMessage(meter);
    if (message !== undefined) return { error: 'connect', message };
    return openConnection(this.#targetOf(address, url), meter, abortSignal);
  }

  #targetOf(address: string, url: URL): Target {
    const { protocol, port } = url;
    const { authority } = this.#options;
    const host = urlHost(url);
    const tls = {
      servername: isIP(host) === 0 ? host : '',
      ...(authority !== undefined && { ca: authority }),
    };
    const isSecure = protocol === 'https:';
    return { address, port: Number(port || (isSecure ? 443 : 80)), tls: isSecure ? tls : undefined };
  }
}

/** The routes of an account. */
export function networkAccessFor(
  { resolve, allowed }: Pick<SenderOptions, 'resolve' | 'allowed'>,
  accountId: number,
): NetworkPolicy {
  return { resolve: (hostname) => resolve(hostname, accountId), allowed };
}

function encodeRequest(url: URL, { headers, body }: Pick<Delivery, 'headers' | 'body'>): Uint8Array {
  const fields = {
    Host: url.host,
    'User-Agent': userAgent,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

function waitForAbort(abortSignal: AbortSignal): Promise<Pick<Failure, 'error' | 'message'>> {
  const { promise, resolve } = Promise.withResolvers<Pick<Failure, 'error' | 'message'>>();
  const end = () =>
    resolve({
      error: abortSignal.reason,
      message: abortedMessage(abortSignal.reason, 'resolution of the host'),
    });
  abortSignal.addEventListener('abort', end);
  if (abortSignal.aborted) end();
  return promise;
}

/**
 * Sends a request and reads the response. Never rejects. Once the status has arrived, the exchange succeeds. A slow or
 * incomplete body is truncated. `keep` receives the connection if it can be used for another request; otherwise the
 * connection is closed. `abortSignal` must abort with an `AbortReason` as its reason.
 */
function exchange(
  connection: Connection,
  request: Uint8Array,
  keep: (connection: Connection) => void,
  abortSignal: AbortSignal,
): Promise<ReceivedResponse | PhaseError> {
  const { socket } = connection;
  const { promise, resolve } = Promise.withResolvers<ReceivedResponse | PhaseError>();
  const reader = new ResponseReader();
  const settle = (error: PhaseError = { error: 'response', message: reader.problem }) => {
    stopCounting();
    abortSignal.removeEventListener('abort', end);
    socket.off('data', read).off('error', fail).off('close', over);
    if (reader.isReusable) keep(connection);
    else socket.destroy();
    resolve(reader.reply ?? { ...error, isSilent: !reader.hasBegun });
  };
  const end = () => settle(abortedPhaseError('response', abortSignal.reason));
  const fail = ({ message }: Error) => settle({ error: 'response', message });
  const over = () => settle();
  const read = (bytes: Buffer) => {
    reader.read(bytes);
    if (reader.isDone) settle();
  };
  const stopCounting = limitTls(connection, () =>
    fail(new Error('The receiver sent too many TLS messages, or in too many pieces.')),
  );
  socket.on('data', read).on('error', fail).on('close', over);
  abortSignal.addEventListener('abort', end);
  if (abortSignal.aborted) end();
  else socket.write(request);
  return promise;
}
