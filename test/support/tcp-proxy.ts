/** A TCP proxy between an instance and one of its servers. It can delay or hold traffic and close connections. */
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests to the server, its responses, or both. */
export type Direction = 'questions' | 'answers' | 'both';

export interface TcpProxy extends AsyncDisposable {
  /** The server's URL, with the proxy's address. */
  readonly url: string;
  /**
   * Delays responses by this number of milliseconds. 0 ends the delay. Bytes that are already delayed keep their delay.
   */
  delay(ms: number): void;
  /** Closes every connection, and refuses new connections until `heal` is called. */
  cut(): Promise<void>;
  /**
   * Keeps existing connections open and accepts new ones, but forwards nothing until `heal` is called, as if packets
   * were dropped. `heal` forwards the held bytes, as TCP would.
   */
  hold(direction?: Direction): void;
  /** Holds the server's responses on a connection once the client has sent this text. */
  holdAnswersTo(text: string): void;
  /** Replaces the server's responses until `heal` is called. */
  alterAnswers(change: (answer: Buffer) => Buffer): void;
  /** Resolves when a response from the server is being held, so that the client cannot know the result. */
  answerHeld(): Promise<void>;
  /** Closes every connection and discards held data, but keeps accepting new connections. */
  drop(): void;
  /** Ends all faults. */
  heal(): Promise<void>;
}

/** Listens on a free port of this machine and forwards to the server. */
export async function tcpProxy(serverUrl: string): Promise<TcpProxy> {
  const proxy = new OwnProxy(serverUrl);
  await proxy.heal();
  return proxy;
}

interface Rules {
  held: Direction | undefined;
  heldText: string | undefined;
  delayMs: number;
  change: ((answer: Buffer) => Buffer) | undefined;
}

class OwnProxy implements TcpProxy {
  readonly #target: { host: string; port: number };
  readonly #serverUrl: string;
  readonly #links = new Set<Link>();
  readonly #waitingForAnswers: (() => void)[] = [];
  #server: Server | undefined;
  #port = 0;
  /** Current faults, shared by all links. */
  readonly rules: Rules = { held: undefined, heldText: undefined, delayMs: 0, change: undefined };

  constructor(serverUrl: string) {
    const { hostname, port } = new URL(serverUrl);
    this.#serverUrl = serverUrl;
    this.#target = { host: hostname, port: Number(port) };
  }

  get url(): string {
    const url = new URL(this.#serverUrl);
    url.hostname = '127.0.0.1';
    url.port = String(this.#port);
    return url.href;
  }

  delay(ms: number): void {
    this.rules.delayMs = ms;
  }

  hold(direction: Direction = 'both'): void {
    this.rules.held = direction;
  }

  holdAnswersTo(text: string): void {
    this.rules.heldText = text;
  }

  alterAnswers(change: (answer: Buffer) => Buffer): void {
    this.rules.change = change;
  }

  answerHeld(): Promise<void> {
    return new Promise((resolve) => {
      if ([...this.#links].some((link) => link.answers.isHolding)) resolve();
      else this.#waitingForAnswers.push(resolve);
    });
  }

  drop(): void {
    for (const link of this.#links) link.end();
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
    this.drop();
    await closed;
  }

  async heal(): Promise<void> {
    this.rules.held = undefined;
    this.rules.heldText = undefined;
    this.rules.delayMs = 0;
    this.rules.change = undefined;
    for (const link of this.#links) link.release();
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
  }

  #accept(client: Socket): void {
    const server = createConnection({ ...this.#target, allowHalfOpen: true });
    let isSilenced = false;
    const link: Link = new Link(client, server, {
      questions: (bytes) => {
        const { held, heldText } = this.rules;
        if (heldText !== undefined && bytes.includes(heldText)) isSilenced = true;
        return held === 'questions' || held === 'both' ? 'hold' : 0;
      },
      answers: () => {
        const { held, heldText, delayMs } = this.rules;
        if (isSilenced && heldText !== undefined) return 'hold';
        return held === 'answers' || held === 'both' ? 'hold' : delayMs;
      },
      change: (answer) => this.rules.change?.(answer) ?? answer,
      onAnswerHeld: () => {
        for (const resolve of this.#waitingForAnswers.splice(0)) resolve();
      },
      onEnd: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }
}

/** Returns the delay for these bytes in ms, or 'hold'. */
type Rule = (bytes: Buffer | 'end') => number | 'hold';

interface LinkOptions {
  readonly questions: Rule;
  readonly answers: Rule;
  readonly change: (answer: Buffer) => Buffer;
  readonly onAnswerHeld: () => void;
  readonly onEnd: () => void;
}

/** One connection through the proxy. */
class Link {
  readonly answers: Way;
  readonly #questions: Way;
  readonly #sockets: readonly Socket[];
  readonly #onEnd: () => void;

  constructor(client: Socket, server: Socket, options: LinkOptions) {
    this.#sockets = [client, server];
    this.#onEnd = options.onEnd;
    this.#questions = new Way(client, server, { rule: options.questions });
    const { answers: rule, change, onAnswerHeld: onHeld } = options;
    this.answers = new Way(server, client, { rule, change, onHeld });
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end());
      socket.on('close', () => this.#sockets.every(({ destroyed }) => destroyed) && this.end());
    }
  }

  release(): void {
    this.#questions.release();
    this.answers.release();
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.release();
    this.#onEnd();
  }
}

interface WayOptions {
  readonly rule: Rule;
  readonly change?: (bytes: Buffer) => Buffer;
  readonly onHeld?: () => void;
}

/** One direction of a connection. Forwards chunks in order, each after its delay. */
class Way {
  readonly #queue: { readonly bytes: Buffer | 'end'; dueAt: number | 'held' }[] = [];
  readonly #from: Socket;
  readonly #to: Socket;
  #released = Promise.withResolvers<void>();
  #passing = false;

  constructor(from: Socket, to: Socket, { rule, change = (bytes) => bytes, onHeld = () => {} }: WayOptions) {
    this.#from = from;
    this.#to = to;
    const put = (bytes: Buffer | 'end') => {
      const lasts = rule(bytes);
      this.#queue.push({ bytes, dueAt: lasts === 'hold' ? 'held' : performance.now() + lasts });
      if (lasts === 'hold') onHeld();
      void this.#pass();
    };
    from.on('data', (bytes: Buffer) => put(change(bytes)));
    from.on('end', () => put('end'));
  }

  get isHolding(): boolean {
    return this.#queue.some(({ dueAt }) => dueAt === 'held');
  }

  /** Forwards all held bytes. */
  release(): void {
    for (const held of this.#queue) if (held.dueAt === 'held') held.dueAt = 0;
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  async #pass(): Promise<void> {
    if (this.#passing) return;
    this.#passing = true;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const { bytes, dueAt } = next;
      const waitMs = dueAt === 'held' ? undefined : dueAt - performance.now();
      if (waitMs === undefined) await this.#released.promise;
      else if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
      this.#queue.shift();
      if (this.#from.destroyed || this.#to.destroyed) continue;
      if (bytes === 'end') this.#to.end();
      else this.#to.write(bytes);
    }
    this.#passing = false;
  }
}
