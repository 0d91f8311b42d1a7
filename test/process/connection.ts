import { createConnection, type Socket } from 'node:net';

export interface RawReply {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** True if the response contains `Connection: close`. */
  readonly closes: boolean;
}

/** A TCP connection with plain HTTP/1.1. It never retries or reconnects, so that dropped requests are visible. */
export class Connection implements Disposable {
  readonly #socket: Socket;
  #received = '';
  #ended: string | undefined;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      this.#received += text;
      this.#wake();
    });
    socket.on('error', (error) => this.#end(error.message));
    socket.on('close', () => this.#end('the connection was closed'));
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = createConnection({ host: hostname, port: Number(port) });
    return new Promise((resolve, reject) => {
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  /** Sends bytes unchanged. */
  write(text: string): void {
    this.#socket.write(text);
  }

  /** Stops reading, so that the system's buffers fill up. */
  pause(): void {
    this.#socket.pause();
  }

  get(path: string, key: string): Promise<RawReply> {
    this.write(`GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    return this.reply();
  }

  add(name: string, key: string): Promise<RawReply> {
    const body = JSON.stringify({ name, categoryId: 1 });
    this.write(beginPost(key, body, body.length));
    return this.reply();
  }

  /** The next response. Rejects if the connection is closed before the response is complete. */
  async reply(): Promise<RawReply> {
    for (;;) {
      const reply = this.#take();
      if (reply !== undefined) return reply;
      if (this.#ended !== undefined) throw new Error(`No answer: ${this.#ended}.`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(): RawReply | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#received.slice(0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    const body = this.#received.slice(end + 4, end + 4 + length);
    if (body.length < length) return undefined;
    this.#received = this.#received.slice(end + 4 + length);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    return { status, head, body, closes: /^connection: *close$/im.test(head) };
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    this.#wake();
  }
}

/** The head of a POST with the full length of this body, and the first `sentLength` characters of the body. */
export function beginPost(key: string, body: string, sentLength: number): string {
  return [
    'POST /v1/pets HTTP/1.1',
    'Host: test',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body.slice(0, sentLength),
  ].join('\r\n');
}
