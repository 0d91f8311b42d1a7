import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { descriptorLimit, openDescriptors } from './descriptors.ts';
import { refuseNewConnections } from './new-connections.ts';

type Server = Bun.Server<undefined>;

/** How often connections are counted. */
const countEveryMs = 100;
/** How long requests under way on connections that are given up may still take. */
const lastRequestsMs = 1_000;
/** Connections of all processes beyond which the default bound does not go, whatever the system allows. */
const mostByDefault = 10_000;
/** Share of the free descriptors that connections get by default; the rest is for the store and for those on their way out. */
const shareByDefault = 0.75;
/** How often at most a crowd is logged. */
const logEveryMs = 60_000;
/** So few free descriptors leave no time for requests under way. */
const fewLeft = 8;
/** In this part of a drain, its last, nobody new is let in: who is there already sends its request and is answered. */
const lastCallShare = 0.25;
const longestLastCallMs = 1_000;
/** The same without a drain: some turns of the event loop. */
const shortestLastCallMs = 10;
const pollMs = 10;

export interface ListenerOptions {
  /** Starts a server on the port. */
  readonly serve: (port: number) => Server;
  readonly port: number;
  /** Open connections, at most; 0 for what the descriptors allow. */
  readonly maxConnections: number;
  /** Processes that share the port: each takes its part of the connections. */
  readonly processes: number;
  readonly log: Logger;
}

/**
 * Listens on a port and bounds the connections there. The runtime neither bounds nor counts them, and without
 * descriptors it asks the system for the next one in a loop that takes a whole core (oven-sh/bun#32705). So at the
 * bound the listening server is replaced by a new one on the same port: the former closes what is idle, finishes what
 * is under way, and drops the rest, such as heads that never end, when the bound is met again a second later.
 */
export class Listener implements Disposable {
  readonly hostname: string | undefined;
  readonly port: number;
  readonly #serve: (port: number) => Server;
  readonly #log: Logger;
  readonly #most: number;
  readonly #timer: Timer;
  #current: Server;
  #isListening = true;
  #former: { readonly server: Server; readonly since: number } | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;

  /** Throws when it cannot listen there. */
  constructor({ serve, port, maxConnections, processes, log }: ListenerOptions) {
    this.#serve = serve;
    this.#log = log;
    this.#current = serve(port);
    this.port = this.#current.port ?? port;
    this.hostname = this.#current.hostname;
    const others = openDescriptors();
    // Descriptors are of each process, the other bounds of all of them.
    const free = Math.floor((descriptorLimit() - others) * shareByDefault);
    const part = Math.floor((maxConnections || mostByDefault) / processes);
    this.#most = others + Math.max(1, maxConnections === 0 ? Math.min(part, free) : part);
    this.#timer = setInterval(() => this.#bound(), countEveryMs);
    this.#timer.unref();
  }

  /**
   * Serves on for the drain, at its end without new connections, then finishes what is under way; all of it takes no
   * longer than the time given. A connection that never sent a request is not waited for.
   */
  async stop(drainMs: number, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    const lastCall = Math.min(longestLastCallMs, Math.max(shortestLastCallMs, drainMs * lastCallShare));
    await sleep(Math.max(0, drainMs - lastCall));
    clearInterval(this.#timer);
    refuseNewConnections(this.port);
    await sleep(lastCall);
    void this.#current.stop();
    while (this.underWay > 0 && performance.now() < deadline) await sleep(pollMs);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    void this.#former?.server.stop(true);
    void this.#current.stop(true);
  }

  /** Requests that are not answered yet. */
  get underWay(): number {
    return this.#current.pendingRequests + (this.#former?.server.pendingRequests ?? 0);
  }

  #bound(): void {
    if (!this.#isListening) this.#listenAgain();
    const open = openDescriptors();
    if (open < this.#most) return;
    if (this.#former === undefined) this.#renew(open);
    else if (performance.now() - this.#former.since > lastRequestsMs || open >= descriptorLimit() - fewLeft) {
      void this.#former.server.stop(true);
      this.#former = undefined;
    }
  }

  #renew(open: number): void {
    const now = performance.now();
    if (now - this.#loggedAt > logEveryMs) {
      this.#loggedAt = now;
      this.#log.warn({ open, most: this.#most }, 'too many connections: closing idle and incomplete ones');
    }
    void this.#current.stop();
    this.#former = { server: this.#current, since: now };
    this.#listenAgain();
  }

  #listenAgain(): void {
    try {
      this.#current = this.#serve(this.port);
      this.#isListening = true;
    } catch (err) {
      if (this.#isListening) this.#log.error({ err }, 'cannot listen; retrying');
      this.#isListening = false;
    }
  }
}
