import { findListeningSocket, type PortSocket } from './sockets.ts';

/** Duration after which an event-loop tick counts as long. */
const longTickMs = 5;
/** Number of requests after which a tick is timed, because noticing its end costs up to 3 µs. */
const untimedRequests = 8;

/**
 * Stops accepting connections for the rest of a long event-loop tick. In one tick, the runtime accepts connections and
 * serves their first requests until no connection is waiting. Clients that reconnect as soon as they are served would
 * prolong the tick indefinitely, while other connections, timers and writes wait. During a pause, new connections wait in
 * the system's queue. Linux only: other systems accept connections before their requests have arrived.
 */
export class AcceptPauses implements Disposable {
  readonly #port: number;
  /** The listening socket, which is looked for once; null if it was not found. */
  #socket: PortSocket | null | undefined;
  /** Number of requests since the end of the last tick that was timed. */
  #requests = 0;
  /** Time at which the current tick becomes long. */
  #longAt = 0;
  #pause: Disposable | undefined;
  readonly #endTick = () => {
    this.#requests = 0;
    this[Symbol.dispose]();
  };

  constructor(port: number) {
    this.#port = port;
  }

  /** Call this for each request, with the current time (`performance.now`). */
  onRequest(now: number): void {
    this.#requests++;
    if (this.#requests < untimedRequests) return;
    if (this.#requests === untimedRequests) {
      this.#longAt = now + longTickMs;
      setImmediate(this.#endTick);
    } else if (now > this.#longAt && this.#pause === undefined) this.#begin();
  }

  /** Ends the pause. Required before the listening socket is closed. */
  [Symbol.dispose](): void {
    this.#pause?.[Symbol.dispose]();
    this.#pause = undefined;
  }

  #begin(): void {
    if (this.#socket === undefined) this.#socket = findListeningSocket(this.#port) ?? null;
    try {
      if (this.#socket?.isListening()) this.#pause = this.#socket.pauseAccepting();
    } catch {
      // Without a free descriptor, `accept` fails as well.
    }
  }
}
