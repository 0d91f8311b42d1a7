import { openDescriptors } from './descriptors.ts';
import { findListeningSocket, type PortSocket } from './sockets.ts';

/** Duration above which an event-loop tick counts as long. */
export const longTickMs = 5;
/** Maximum number of open sockets that the runtime serves in a tick. */
const maxReadySockets = 1_024;
/**
 * Maximum number of connections that wait to be accepted, unless the system has a lower limit (net.core.somaxconn). With
 * the runtime's 512, the system would drop attempts to connect during pauses, which clients retry only after a second.
 */
const maxWaitingConnections = 4_096;
/** Number of requests after which a tick is timed, because noticing its end costs up to 3 µs. */
const untimedRequests = 8;

/**
 * Stops accepting connections for the rest of an event-loop tick that serves more requests than there were connections,
 * or two requests whose bodies are not read. In one tick, the runtime accepts connections and serves their first
 * requests until no connection is waiting. Clients that reconnect as soon as they are served would prolong the tick
 * indefinitely, while other connections, timers and writes wait. During a pause, new connections wait in the system's
 * queue. Pipelined requests also exceed the number of connections, and may be processed before the listening socket.
 * New connections would then never be accepted, so in the tick after a pause, the next pause begins later, by the
 * duration of the tick before. Linux only: other systems accept connections before their requests have arrived.
 */
export class AcceptPauses implements Disposable {
  /** The listening socket; undefined if it was not found. */
  readonly #socket: PortSocket | undefined;
  /** Number of requests since the end of the last tick that was timed. */
  #requests = 0;
  #startedAt = 0;
  /** Duration after which the current tick may accept no more connections. */
  #pauseAfterMs = longTickMs;
  /** Number of requests after which it may accept no more connections; undefined in a short tick. */
  #maxRequests: number | undefined;
  #pause: Disposable | undefined;
  readonly #endTick = () => {
    const duration = performance.now() - this.#startedAt;
    const isNextLonger = this.#pause !== undefined && this.#pauseAfterMs === longTickMs;
    this.#pauseAfterMs = longTickMs + (isNextLonger ? duration : 0);
    this.#maxRequests = undefined;
    this.#requests = 0;
    this.#end();
  };

  /** Sets the length of the socket's queue. Loads the C library, which needs a free descriptor, before they can run out. */
  constructor(port: number) {
    this.#socket = findListeningSocket(port);
    this.#socket?.setMaxQueue(maxWaitingConnections);
  }

  /** Call this for each request, with the current time (`performance.now`). */
  onRequest(now: number): void {
    this.#requests++;
    if (this.#requests < untimedRequests) return;
    if (this.#requests === untimedRequests) this.#startTiming(now);
    else if (now > this.#startedAt + this.#pauseAfterMs && this.#pause === undefined) {
      this.#maxRequests ??= Math.min(openDescriptors(), maxReadySockets);
      if (this.#requests > this.#maxRequests) this.#begin();
    }
  }

  /**
   * Call this for each response that closes its connection without reading the body. The runtime still parses the part
   * already received, which takes up to a millisecond in small chunks, so the second such response in a tick begins a
   * pause.
   */
  onUnreadBody(): void {
    const now = performance.now();
    if (this.#requests < untimedRequests) {
      this.#requests = untimedRequests;
      this.#startTiming(now);
    } else if (now > this.#startedAt + this.#pauseAfterMs - longTickMs && this.#pause === undefined) {
      this.#begin();
    }
  }

  /** Required before the listening socket is closed. */
  [Symbol.dispose](): void {
    this.#end();
  }

  #startTiming(now: number): void {
    this.#startedAt = now;
    setImmediate(this.#endTick);
  }

  #begin(): void {
    try {
      if (this.#socket?.isListening()) this.#pause = this.#socket.pauseAccepting();
    } catch {
      // Without a free descriptor, `accept` fails as well.
    }
  }

  #end(): void {
    this.#pause?.[Symbol.dispose]();
    this.#pause = undefined;
  }
}
