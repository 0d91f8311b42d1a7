import { socketsOn } from './sockets.ts';

type Peers = Pick<Bun.Server<undefined>, 'requestIP'>;

/**
 * Connections with an authenticated request in flight. When there are too many connections, all other connections are
 * closed first. Connections are identified only by the peer's port, so two connections with the same port are both kept
 * open.
 */
export class BusyConnections {
  /** The peer port of a request is read only when needed, because reading it creates two objects. */
  readonly #requests = new Map<Request, Peers>();
  /** Peer ports of open streams. A stream does not retain its request, to save memory. */
  readonly #streams = new Map<object, number>();

  /** Keeps the request's connection open until the request is released. */
  keep(request: Request, peers: Peers): void {
    this.#requests.set(request, peers);
  }

  release(request: Request): void {
    if (this.#requests.size > 0) this.#requests.delete(request);
  }

  async releaseAfter(request: Request, answer: Promise<Response>): Promise<Response> {
    try {
      return await answer;
    } finally {
      this.release(request);
    }
  }

  keepStream(stream: object, request: Request, peers: Peers): void {
    this.#streams.set(stream, portOf(request, peers));
  }

  releaseStream(stream: object): void {
    this.#streams.delete(stream);
  }

  /**
   * Returns the peer ports of all connections to a local port, except those kept open. Empty if connections cannot be
   * listed.
   */
  others(port: number): ReadonlySet<number> {
    return new Set(this.#others(port).map(({ peerPort }) => peerPort));
  }

  /** Closes the given connections, except those kept open in the meantime. Returns the number of closed connections. */
  close(port: number, peerPorts: ReadonlySet<number>): number {
    const closed = this.#others(port).filter(({ peerPort }) => peerPorts.has(peerPort));
    for (const socket of closed) socket.shutDown();
    return closed.length;
  }

  #others(port: number) {
    const ports = [...this.#requests].map(([request, peers]) => portOf(request, peers));
    const kept = new Set([...ports, ...this.#streams.values()]);
    try {
      return socketsOn(port).filter(({ isListening, peerPort }) => !isListening && !kept.has(peerPort));
    } catch {
      return [];
    }
  }
}

function portOf(request: Request, peers: Peers): number {
  return peers.requestIP(request)?.port ?? 0;
}

type Server = Pick<Bun.Server<undefined>, 'timeout'>;

/**
 * Keeps the connection open until the response is ready. Otherwise, the runtime would close the connection as idle if
 * the response took longer than the idle timeout.
 */
export async function keepOpenUntilAnswered(
  server: Server,
  request: Request,
  answer: Promise<Response>,
  idleTimeoutSeconds: number,
): Promise<Response> {
  server.timeout(request, 0);
  try {
    return await answer;
  } finally {
    server.timeout(request, idleTimeoutSeconds);
  }
}
