import { formatPeer } from '../../domain/address.ts';
import { listConnections, type PortSocket } from './sockets.ts';

type Peers = Pick<Bun.Server<undefined>, 'requestIP'>;

/**
 * Connections with an authenticated request in flight. When there are too many connections, all other connections are
 * closed first. Connections are identified by the address and port of the peer. A client chooses its port, so the port
 * alone would let it pass its connections off as other clients'.
 */
export class BusyConnections {
  /** The peer of a request is read only when needed, because reading it creates two objects. */
  readonly #requests = new Map<Request, Peers>();
  /** Peers of open streams. A stream does not retain its request, to save memory. */
  readonly #streams = new Map<object, string>();

  /** Keeps the request's connection open until the request is released. */
  keep(request: Request, peers: Peers): void {
    this.#requests.set(request, peers);
  }

  release(request: Request): void {
    if (this.#requests.size > 0) this.#requests.delete(request);
  }

  /**
   * Keeps the connection open until the response is ready, and then releases the request. Otherwise, the runtime would
   * close the connection as idle if the response took longer than the idle timeout.
   */
  async keepOpenUntilResponse(
    request: Request,
    server: Pick<Bun.Server<undefined>, 'timeout'>,
    response: Promise<Response>,
    idleTimeoutSeconds: number,
  ): Promise<Response> {
    server.timeout(request, 0);
    try {
      return await response;
    } finally {
      server.timeout(request, idleTimeoutSeconds);
      this.release(request);
    }
  }

  keepStream(stream: object, request: Request, peers: Peers): void {
    this.#streams.set(stream, peerAddress(request, peers));
  }

  releaseStream(stream: object): void {
    this.#streams.delete(stream);
  }

  /**
   * Returns all connections to a local port, except those kept open. Empty if connections cannot be listed. Takes about
   * 3 µs per connection.
   */
  others(port: number): readonly PortSocket[] {
    const requested = [...this.#requests].map(([request, peers]) => peerAddress(request, peers));
    const busyPeers = new Set([...requested, ...this.#streams.values()]);
    return listConnections(port).filter(({ peer }) => !busyPeers.has(peer));
  }
}

/** Empty if the connection is closed. */
function peerAddress(request: Request, peers: Peers): string {
  const found = peers.requestIP(request);
  return found === null ? '' : formatPeer(found.address, found.port);
}
