/** Connections to receivers, and a pool of idle connections. */
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Meter } from './thread-time-budget.ts';

/** The phases of an exchange, in order. `tls` applies only to https. */
type Phase = 'connect' | 'tls' | 'response';

/** The reason why an exchange is aborted. */
export type AbortReason = 'timeout' | 'aborted';

export interface Target {
  /** An IP address that has been checked. */
  readonly address: string;
  readonly port: number;
  /** Undefined for http. Without a server name, the certificate must contain the address. */
  readonly tls: { readonly servername: string; readonly ca?: string } | undefined;
}

export interface Connection {
  readonly socket: Socket;
  /** The TCP connection, which carries the TLS records if there is TLS. */
  readonly transport: Socket;
}

export interface PhaseError {
  readonly error: Phase | AbortReason;
  readonly message: string;
  /** Whether nothing was received in response to a request. */
  readonly isSilent?: boolean;
}

const phaseNames: Readonly<Record<Phase, string>> = {
  connect: 'connection',
  tls: 'TLS handshake',
  response: 'response',
};

/** The error of a phase that was aborted. */
export function abortedPhaseError(phase: Phase, reason: AbortReason): PhaseError {
  return { error: reason, message: abortedMessage(reason, phaseNames[phase]) };
}

/** Error message for an aborted exchange. `awaited` did not finish. */
export function abortedMessage(reason: AbortReason, awaited: string): string {
  return reason === 'timeout' ? `The ${awaited} took too long.` : 'The request was aborted.';
}

/**
 * Maximum number of bytes received in a TLS handshake. Most receivers send 3 to 6 kB. A certificate chain of 98 kB with
 * many name constraints takes more than a second to verify.
 */
const maxHandshakeBytes = 16_384;

/**
 * Maximum number of reads in a handshake, and over TLS in an exchange: each costs time, even if it returns one byte. Most
 * receivers need fewer than ten.
 */
const maxTlsReads = 256;

/** Error message if the account must rest; undefined if it may use the thread. */
export function overLimitMessage(meter: Meter): string | undefined {
  const seconds = meter.restSeconds();
  if (seconds === 0) return undefined;
  return `The receivers and name servers of this account take too long to process; try again in ${seconds} s.`;
}

/** Opens a connection. Never rejects. `abortSignal` must abort with an `AbortReason` as its reason. */
export async function openConnection(
  { address, port, tls }: Target,
  meter: Meter,
  abortSignal: AbortSignal,
): Promise<Connection | PhaseError> {
  const transport = connect({ host: address, port, noDelay: true });
  const failure = await waitForPhase(transport, 'connect', abortSignal);
  if (failure !== undefined) return failure;
  if (tls === undefined) return { socket: transport, transport };
  const stopCounting = limitReceived(transport, maxHandshakeBytes, (exceeded) =>
    transport.destroy(
      new Error(
        exceeded === 'bytes'
          ? `The TLS handshake has more than ${maxHandshakeBytes} bytes.`
          : 'The TLS handshake arrived in too many pieces.',
      ),
    ),
  );
  // Other handshakes of the account that began at the same time may have used up its time in the meantime.
  const rest = () => {
    const message = overLimitMessage(meter);
    if (message !== undefined) transport.destroy(new Error(message));
  };
  transport.on('data', rest);
  const records = countTlsRecords(transport, meter);
  // `rejectUnauthorized` overrides NODE_TLS_REJECT_UNAUTHORIZED.
  const socket = connectTls({ socket: records, host: address, rejectUnauthorized: true, ...tls });
  const failed = await waitForPhase(socket, 'tls', abortSignal);
  stopCounting();
  transport.off('data', rest);
  return failed ?? { socket, transport };
}

/**
 * The TLS records on a connection. If the runtime read them from the connection itself, it would process them before
 * they can be counted, for example by verifying a certificate.
 */
function countTlsRecords(transport: Socket, meter: Meter): Duplex {
  const records = new Duplex({
    read: () => transport.resume(),
    write: (bytes, _, done) => transport.write(bytes, done),
    final: (done) => transport.end(done),
    destroy: (error, done) => {
      transport.destroy();
      done(error);
    },
  });
  transport.on('data', (bytes) => {
    if (transport.destroyed) return;
    meter.run(() => {
      if (!records.push(bytes)) transport.pause();
    });
  });
  transport.on('end', () => records.push(null));
  transport.on('error', (error) => records.destroy(error));
  transport.on('close', () => records.destroy());
  return records;
}

/**
 * Calls `exceed` if more than `maxBytes` are received from now on, or in more than `maxTlsReads` reads. Returns a function
 * that stops counting.
 */
function limitReceived(
  transport: Socket,
  maxBytes: number,
  exceed: (exceeded: 'bytes' | 'reads') => void,
): () => void {
  const most = transport.bytesRead + maxBytes;
  let reads = 0;
  const count = () => {
    reads++;
    if (transport.bytesRead > most) exceed('bytes');
    else if (reads > maxTlsReads) exceed('reads');
  };
  transport.on('data', count);
  return () => transport.off('data', count);
}

const openedEvents = { connect: 'connect', tls: 'secureConnect' } as const;

/** Waits for the end of a phase. If it fails, destroys the socket and returns the error. */
function waitForPhase(
  socket: Socket,
  phase: keyof typeof openedEvents,
  abortSignal: AbortSignal,
): Promise<PhaseError | undefined> {
  const { promise, resolve } = Promise.withResolvers<PhaseError | undefined>();
  const settle = (error?: PhaseError) => {
    abortSignal.removeEventListener('abort', end);
    if (error !== undefined) socket.destroy();
    resolve(error);
  };
  const end = () => settle(abortedPhaseError(phase, abortSignal.reason));
  socket.once(openedEvents[phase], () => settle());
  // This listener remains, because an error without a listener would end the process.
  socket.on('error', ({ message }) => settle({ error: phase, message }));
  socket.once('close', () => settle({ error: phase, message: `The ${phaseNames[phase]} ended early.` }));
  abortSignal.addEventListener('abort', end);
  if (abortSignal.aborted) end();
  return promise;
}

/**
 * Maximum number of bytes received over TLS in an exchange, and while the connection is idle, including messages that
 * carry no data, such as session tickets.
 */
const maxTlsBytes = 65_536;

/**
 * Calls `exceed` if too much arrives over TLS from now on, or in too many reads. Returns a function that stops counting.
 * Connections without TLS have no such bound, because everything they receive causes an event.
 */
export function limitTls({ socket, transport }: Connection, exceed: () => void): () => void {
  return socket === transport ? () => undefined : limitReceived(transport, maxTlsBytes, exceed);
}

const defaultIdleMs = 2_000;
const maxIdlePerEndpoint = 4;
const maxIdleEndpoints = 64;
/** How long connections to an endpoint are not kept open after the endpoint misused one. */
const distrustMs = 600_000;
const maxDistrusted = 1_000;

/** Connections without a request in flight, by endpoint. They are closed after `idleMs`, two seconds by default. */
export class IdleConnections implements Disposable {
  readonly #idleMs: number;
  readonly #idle = new Map<string, Map<Connection, () => void>>();
  /** Endpoints whose connections are not reused, with the time (ms, monotonic) at which reuse is allowed again, earliest first. */
  readonly #distrusted = new Map<string, number>();

  constructor(idleMs = defaultIdleMs) {
    this.#idleMs = idleMs;
  }

  /** Removes and returns the connection that was added last. */
  take(endpoint: string): Connection | undefined {
    const [connection, release] = [...(this.#idle.get(endpoint) ?? [])].at(-1) ?? [];
    release?.();
    return connection;
  }

  /**
   * Keeps no connection to this endpoint open for ten minutes. Otherwise, a receiver that closes each connection that
   * is used again would get most requests twice, and one that sends TLS messages without data could do so continuously.
   */
  distrust(endpoint: string): void {
    this.#distrusted.delete(endpoint);
    this.#distrusted.set(endpoint, performance.now() + distrustMs);
    if (this.#distrusted.size > maxDistrusted)
      for (const oldest of this.#distrusted.keys().take(1)) this.#distrusted.delete(oldest);
    for (let idle = this.take(endpoint); idle !== undefined; idle = this.take(endpoint))
      idle.socket.destroy();
  }

  /** Keeps a connection open. Closes it if too many are open, or if the endpoint is distrusted. */
  add(endpoint: string, connection: Connection): void {
    const { socket } = connection;
    const idle = this.#idle.get(endpoint) ?? new Map<Connection, () => void>();
    const isDistrusted = performance.now() < (this.#distrusted.get(endpoint) ?? 0);
    const isFull =
      idle.size >= maxIdlePerEndpoint || (idle.size === 0 && this.#idle.size >= maxIdleEndpoints);
    if (isDistrusted || isFull) {
      socket.destroy();
      return;
    }
    // A receiver must not send data without a request.
    const close = () => {
      release();
      socket.destroy();
    };
    const timer = setTimeout(close, this.#idleMs);
    const stopCounting = limitTls(connection, () => this.distrust(endpoint));
    const release = () => {
      clearTimeout(timer);
      stopCounting();
      socket.off('data', close).off('close', close);
      idle.delete(connection);
      if (idle.size === 0) this.#idle.delete(endpoint);
    };
    socket.on('data', close).on('close', close);
    this.#idle.set(endpoint, idle.set(connection, release));
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    for (const endpoint of this.#idle.keys()) {
      for (let idle = this.take(endpoint); idle !== undefined; idle = this.take(endpoint))
        idle.socket.destroy();
    }
  }
}
