import type { Awaitable } from '../../domain/awaitable.ts';
import { socketsOn } from './sockets.ts';

/**
 * Connections with an authenticated request in flight. When there are too many connections, all others are closed
 * first. Connections are identified by the peer's port: if two have the same one, both are kept.
 */
export class BusyConnections {
  readonly #peerPorts = new Map<object, number>();

  /** Keeps the connection until the request, or its placeholder, is released. */
  keep(request: Request, server: Pick<Bun.Server<undefined>, 'requestIP'>, keeper: object = request): void {
    this.#peerPorts.set(keeper, server.requestIP(request)?.port ?? 0);
  }

  release(keeper: object): void {
    if (this.#peerPorts.size > 0) this.#peerPorts.delete(keeper);
  }

  releaseAfter(request: Request, answer: Awaitable<Response>): Awaitable<Response> {
    if (answer instanceof Promise) return answer.finally(() => this.release(request));
    this.release(request);
    return answer;
  }

  /** Peer ports of the connections to a port that are not kept; empty if the system does not provide them. */
  others(port: number): ReadonlySet<number> {
    return new Set(this.#others(port).map(({ peerPort }) => peerPort));
  }

  /** Closes those of these connections that are still not kept, and returns their number. */
  close(port: number, peerPorts: ReadonlySet<number>): number {
    const closed = this.#others(port).filter(({ peerPort }) => peerPorts.has(peerPort));
    for (const socket of closed) socket.shutDown();
    return closed.length;
  }

  #others(port: number) {
    const kept = new Set(this.#peerPorts.values());
    try {
      return socketsOn(port).filter(({ isListening, peerPort }) => !isListening && !kept.has(peerPort));
    } catch {
      return [];
    }
  }
}

type Server = Pick<Bun.Server<undefined>, 'timeout'>;

/**
 * Keeps the connection open until the response: the runtime would close it as idle if the response took longer than the
 * time-out.
 */
export function keepOpenUntilAnswered(
  server: Server,
  request: Request,
  answer: Awaitable<Response>,
  idleTimeoutSeconds: number,
): Awaitable<Response> {
  if (!(answer instanceof Promise)) return answer;
  server.timeout(request, 0);
  return answer.finally(() => server.timeout(request, idleTimeoutSeconds));
}
