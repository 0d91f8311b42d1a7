import type { Socket } from 'bun';
import type { Checkable } from '../support/contract.ts';
import { maxWaitMs } from '../support/wait.ts';

/** A raw response with its complete body. */
export type WireResponse = Checkable;

/**
 * Connections that were idle for longer than this are replaced, because the service may be closing them. Services close
 * idle connections after 20 s or more.
 */
const maxIdleMs = 5_000;

interface Waiting {
  readonly isHead: boolean;
  readonly resolve: (response: WireResponse) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

/**
 * A keep-alive connection that sends bytes and reads one response at a time. It reconnects after the connection is
 * closed.
 */
export class Wire implements Disposable {
  readonly #hostname: string;
  readonly #port: number;
  #socket: Socket | undefined;
  #unsent = Buffer.alloc(0);
  #received = Buffer.alloc(0);
  #waiting: Waiting | undefined;
  #usedAt = 0;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#hostname = hostname;
    this.#port = Number(port);
  }

  async send(bytes: Uint8Array, isHead = false): Promise<WireResponse> {
    if (performance.now() - this.#usedAt > maxIdleMs) this[Symbol.dispose]();
    const socket = this.#socket ?? (await this.#open());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#lost(socket, `nothing received within ${maxWaitMs} ms`),
        maxWaitMs,
      );
      this.#waiting = { isHead, resolve, reject, timer };
      const written = socket.write(bytes);
      if (written < bytes.length) this.#unsent = Buffer.from(bytes.subarray(Math.max(0, written)));
    });
  }

  [Symbol.dispose](): void {
    // Clears the field first, because `end` calls `close` synchronously if the service has closed the socket.
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.end();
  }

  async #open(): Promise<Socket> {
    this.#received = Buffer.alloc(0);
    this.#unsent = Buffer.alloc(0);
    this.#socket = await Bun.connect({
      hostname: this.#hostname,
      port: this.#port,
      socket: {
        data: (_, chunk) => this.#take(chunk),
        drain: (socket) => {
          this.#unsent = this.#unsent.subarray(Math.max(0, socket.write(this.#unsent)));
        },
        close: (socket) => this.#lost(socket, 'the connection was closed'),
        error: (socket, error) => this.#lost(socket, error.message),
      },
    });
    return this.#socket;
  }

  #lost(socket: Socket, reason: string): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    socket.end();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    clearTimeout(waiting?.timer);
    waiting?.reject(new Error(`No response: ${reason}.`));
  }

  #take(chunk: Buffer): void {
    this.#received =
      this.#received.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    const waiting = this.#waiting;
    if (headEnd === -1 || waiting === undefined) return;
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Headers();
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    const length = waiting.isHead ? 0 : Number(headers.get('content-length') ?? 0);
    const end = headEnd + 4 + length;
    if (this.#received.length < end) return;
    const text = this.#received.toString('utf8', headEnd + 4, end);
    this.#received = this.#received.subarray(end);
    if (headers.get('connection') === 'close') this[Symbol.dispose]();
    this.#waiting = undefined;
    this.#usedAt = performance.now();
    clearTimeout(waiting.timer);
    waiting.resolve({ status: Number(statusLine.slice(9, 12)), headers, text });
  }
}

/** Several connections that share the work. */
export class Wires implements Disposable {
  readonly #wires: readonly Wire[];

  constructor(url: string, connections: number) {
    this.#wires = Array.from({ length: connections }, () => new Wire(url));
  }

  /** Runs all cases, one at a time on each connection. */
  async each(cases: number, perform: (wire: Wire, index: number) => Promise<void>): Promise<void> {
    let next = 0;
    const work = async (wire: Wire) => {
      while (next < cases) await perform(wire, next++);
    };
    await Promise.all(this.#wires.slice(0, cases).map(work));
  }

  [Symbol.dispose](): void {
    for (const wire of this.#wires) wire[Symbol.dispose]();
  }
}
