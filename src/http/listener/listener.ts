import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { runAtMultiples } from '../../domain/run-at-multiples.ts';
import { AcceptPauses } from './accept-pauses.ts';
import type { BusyConnections } from './busy-connections.ts';
import type { ConnectionLimit } from './connection-limits.ts';
import { type PortSocket, refuseNewConnections } from './sockets.ts';

type Server = Bun.Server<undefined>;

/** Intervals between counts of the connections. While their number does not change, the process is woken less often. */
const countEveryMs = { changed: 100, unchanged: 250 } as const;
/** Time allowed for requests in flight on connections that will be closed. */
const lastRequestsMs = 1_000;
const logEveryMs = 60_000;
/**
 * Final fraction of the drain time, during which no new connections are accepted. Existing connections are still
 * served.
 */
const acceptPauseShare = 0.25;
const maxAcceptPauseMs = 1_000;
/** Minimum time between refusing new connections and closing the listener, even without a drain. */
const minAcceptPauseMs = 10;
const pollMs = 10;

interface ListenerOptions {
  readonly serve: (port: number) => Server;
  readonly port: number;
  /** Returns the connection limit for the port. */
  readonly bound: (port: number) => ConnectionLimit;
  readonly busy: BusyConnections;
  readonly log: Logger;
}

/**
 * Listens on a port and limits the number of connections. The runtime neither limits nor counts connections, and
 * without free descriptors it calls `accept` in a busy loop that uses a whole core (oven-sh/bun#32705). At the limit,
 * the server is therefore replaced by a new server on the same port, and the old server closes idle connections and
 * finishes requests in flight. If there are still too many connections a second later, connections without an
 * authenticated request in flight are closed, such as those that never finish sending a request head. Connections that
 * were already open a second ago are closed first.
 */
export class Listener implements Disposable {
  readonly hostname: string | undefined;
  readonly port: number;
  readonly #options: ListenerOptions;
  readonly #bound: ConnectionLimit;
  readonly #timer: Disposable;
  #current: Server;
  /** Undefined while the current server does not listen. */
  #acceptPauses: AcceptPauses | undefined;
  #isListening = true;
  /** Time until which connections are refused. */
  #refusesUntil = Number.NEGATIVE_INFINITY;
  /** `others` are the connections that had no authenticated request in flight at time `since`. */
  #former:
    | { readonly server: Server; readonly since: number; readonly others: ReadonlySet<string> }
    | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #open = 0;
  #countEveryMs: number = countEveryMs.changed;

  /** Throws if the port is not available. */
  constructor(options: ListenerOptions) {
    const { serve, port, bound } = options;
    this.#options = options;
    this.#current = serve(port);
    this.port = this.#current.port ?? port;
    this.hostname = this.#current.hostname;
    this.#acceptPauses = new AcceptPauses(this.port);
    this.#bound = bound(this.port);
    this.#timer = runAtMultiples(
      () => this.#countEveryMs,
      () => this.#sample(),
    );
  }

  /**
   * Continues to serve during the drain, stops accepting new connections near its end, then finishes requests in
   * flight, all within the given time. Does not wait for connections that have never sent a request.
   */
  async stop(drainMs: number, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    const lastCall = Math.min(maxAcceptPauseMs, Math.max(minAcceptPauseMs, drainMs * acceptPauseShare));
    await sleep(Math.max(0, drainMs - lastCall));
    this.#timer[Symbol.dispose]();
    refuseNewConnections(this.port);
    await sleep(lastCall);
    await this.finish(deadline - performance.now());
  }

  /** Closes all connections and refuses new ones for `ms` milliseconds; used by the sandbox. */
  refuse(ms: number): void {
    this.#refusesUntil = performance.now() + ms;
    this.#countEveryMs = countEveryMs.changed;
    this.#isListening = false;
    void this.#former?.server.stop(true);
    this.#former = undefined;
    this.#stopCurrent(true);
  }

  /** Call this for each request, with the current time (`performance.now`). */
  onRequest(now: number): void {
    this.#acceptPauses?.onRequest(now);
  }

  /** Call this for each response that closes its connection without reading the body. */
  onUnreadBody(): void {
    this.#acceptPauses?.onUnreadBody();
  }

  /** Stops listening immediately, and finishes requests in flight within the given time. */
  async finish(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    this.#timer[Symbol.dispose]();
    this.#stopCurrent();
    while (this.inFlight > 0 && performance.now() < deadline) await sleep(pollMs);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    void this.#former?.server.stop(true);
    this.#stopCurrent(true);
  }

  #stopCurrent(closesConnections = false): void {
    this.#acceptPauses?.[Symbol.dispose]();
    this.#acceptPauses = undefined;
    void this.#current.stop(closesConnections);
  }

  get inFlight(): number {
    return this.#current.pendingRequests + (this.#former?.server.pendingRequests ?? 0);
  }

  #sample(): void {
    if (performance.now() < this.#refusesUntil) return;
    if (!this.#isListening) this.#listenAgain();
    const open = this.#bound.open();
    const isFull = open >= this.#bound.maxConnections;
    this.#countEveryMs = open === this.#open && !isFull ? countEveryMs.unchanged : countEveryMs.changed;
    this.#open = open;
    if (!isFull) return;
    if (this.#former === undefined) this.#renew(open);
    else if (performance.now() - this.#former.since > lastRequestsMs || this.#bound.isExhausted())
      this.#drop(this.#former.server, this.#former.others);
  }

  /**
   * Closes the given connections or, if all of them are already closed, every connection without an authenticated
   * request in flight. Aborts authenticated requests only if there are none to close and descriptors run out.
   */
  #drop(former: Server, before: ReadonlySet<string>): void {
    const { open = [], others = [] } = Object.groupBy(this.#others(), ({ peer }) =>
      before.has(peer) ? 'open' : 'others',
    );
    const [dropped, rest] = open.length > 0 ? [open, others] : [others, []];
    for (const socket of dropped) socket.shutDown();
    const isNeeded = former.pendingRequests > 0 && (dropped.length > 0 || !this.#bound.isExhausted());
    if (!isNeeded) void former.stop(true);
    this.#former = isNeeded
      ? { server: former, since: performance.now(), others: peerAddresses(rest) }
      : undefined;
  }

  #others(): readonly PortSocket[] {
    return this.#options.busy.others(this.port);
  }

  #renew(open: number): void {
    const now = performance.now();
    if (now - this.#loggedAt > logEveryMs) {
      this.#loggedAt = now;
      this.#options.log.warn(
        { port: this.port, open, most: this.#bound.maxConnections },
        'too many connections: closing idle and incomplete ones',
      );
    }
    // Before the port is closed, because listing thousands of connections takes up to 0.2 s.
    const others = peerAddresses(this.#others());
    this.#stopCurrent();
    this.#former = { server: this.#current, since: now, others };
    this.#listenAgain();
  }

  #listenAgain(): void {
    try {
      this.#current = this.#options.serve(this.port);
      this.#acceptPauses = new AcceptPauses(this.port);
      this.#isListening = true;
    } catch (err) {
      if (this.#isListening) this.#options.log.error({ err }, 'cannot listen; retrying');
      this.#isListening = false;
    }
  }
}

function peerAddresses(sockets: readonly PortSocket[]): ReadonlySet<string> {
  return new Set(sockets.map(({ peer }) => peer));
}
