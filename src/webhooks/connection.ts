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

/** Connections without a request in flight, by endpoint. They are closed after two seconds. */
export class IdleConnections implements Disposable {
  readonly #idle = new Map<string, Map<Connection, () => void>>();

  /** Removes and returns the connection that was added last. */
  take(endpoint: string): Connection | undefined {
    const [connection, release] = [...(this.#idle.get(endpoint) ?? [])].at(-1) ?? [];
    release?.();
    return connection;
  }

  /** Keeps a connection open. Closes it if there are too many. */
  add(endpoint: string, connection: Connection): void {
    const { socket } = connection;
    const idle = this.#idle.get(endpoint) ?? new Map<Connection, () => void>();
    if (idle.size >= maxIdlePerEndpoint || (idle.size === 0 && this.#idle.size >= maxIdleEndpoints)) {
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
