/** Connections to receivers, and the idle ones among them. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** The phases of an exchange, in order. `tls` applies only to https. */
export type Phase = 'connect' | 'tls' | 'response';

/** The reason why an exchange is aborted. */
export type Ending = 'timeout' | 'aborted';

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
  readonly error: Phase | Ending;
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
export function endedIn(phase: Phase, ending: Ending): PhaseError {
  return { error: ending, message: endedMessage(ending, phaseNames[phase]) };
}

/** Error message for an aborted exchange. `awaited` did not finish. */
export function endedMessage(ending: Ending, awaited: string): string {
  return ending === 'timeout' ? `The ${awaited} took too long.` : 'The request was aborted.';
}

/** Opens a connection. Never rejects. `ending` must abort with an `Ending` as its reason. */
export async function open(
  { address, port, tls }: Target,
  ending: AbortSignal,
): Promise<Connection | PhaseError> {
  const transport = connect({ host: address, port, noDelay: true });
  const failure = await opened(transport, 'connect', ending);
  if (failure !== undefined) return failure;
  if (tls === undefined) return { socket: transport, transport };
  // `rejectUnauthorized` overrides NODE_TLS_REJECT_UNAUTHORIZED.
  const socket = connectTls({ socket: transport, host: address, rejectUnauthorized: true, ...tls });
  return (await opened(socket, 'tls', ending)) ?? { socket, transport };
}

const openedEvents = { connect: 'connect', tls: 'secureConnect' } as const;

/** Waits for the end of a phase. If it fails, destroys the socket and returns the error. */
function opened(
  socket: Socket,
  phase: keyof typeof openedEvents,
  ending: AbortSignal,
): Promise<PhaseError | undefined> {
  const { promise, resolve } = Promise.withResolvers<PhaseError | undefined>();
  const settle = (error?: PhaseError) => {
    ending.removeEventListener('abort', end);
    if (error !== undefined) socket.destroy();
    resolve(error);
  };
  const end = () => settle(endedIn(phase, ending.reason));
  socket.once(openedEvents[phase], () => settle());
  // This listener remains, because an error without a listener would end the process.
  socket.on('error', ({ message }) => settle({ error: phase, message }));
  socket.once('close', () => settle({ error: phase, message: `The ${phaseNames[phase]} ended early.` }));
  ending.addEventListener('abort', end);
  if (ending.aborted) end();
  return promise;
}

const idleMs = 2_000;
const maxIdlePerEndpoint = 4;
const maxIdleEndpoints = 64;
/** How long no connection is kept open to an endpoint that closed one without a response. */
const distrustMs = 600_000;
const maxDistrusted = 1_000;

/** Connections without a request in flight, by endpoint. They are closed after two seconds. */
export class IdleConnections implements Disposable {
  readonly #idle = new Map<string, Map<Connection, () => void>>();
  /** Endpoints that closed a connection without a response, with the time when that is forgiven, earliest first. */
  readonly #distrusted = new Map<string, number>();

  /** Removes and returns the connection that was added last. */
  take(endpoint: string): Connection | undefined {
    const [connection, release] = [...(this.#idle.get(endpoint) ?? [])].at(-1) ?? [];
    release?.();
    return connection;
  }

  /**
   * Keeps no connection to this endpoint open for ten minutes. Otherwise, a receiver that closes each connection that is
   * used again would get most requests twice.
   */
  distrust(endpoint: string): void {
    this.#distrusted.delete(endpoint);
    this.#distrusted.set(endpoint, performance.now() + distrustMs);
    if (this.#distrusted.size > maxDistrusted)
      for (const oldest of this.#distrusted.keys().take(1)) this.#distrusted.delete(oldest);
    for (let idle = this.take(endpoint); idle !== undefined; idle = this.take(endpoint))
      idle.socket.destroy();
  }

  /** Keeps a connection open. Closes it if there are too many, or if the endpoint is distrusted. */
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
    // Data without a request is a mistake of the receiver.
    const close = () => {
      release();
      socket.destroy();
    };
    const timer = setTimeout(close, idleMs);
    const release = () => {
      clearTimeout(timer);
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
