/** A proxy that disturbs random requests to the service: it closes connections, or delays or replaces responses. */
import { createConnection, createServer, type Socket } from 'node:net';
import type { Chance } from './generate/chance.ts';

/** Points during a request at which the proxy closes the connection. */
export const cuts = ['before', 'in the request', 'once sent', 'before the answer', 'in the answer'] as const;

/**
 * Other disturbances: the response is delayed by `lateMs`, or a load balancer responds in place of the service, before
 * or after the service processes the request.
 */
export const balancers = ['late', '503 before', '502 after'] as const;

export type Fate = 'whole' | (typeof cuts)[number] | (typeof balancers)[number];

/** Faults injected into requests. */
interface Spoiling {
  /** Fraction of requests that are disturbed. All `fates` are equally likely. */
  readonly part: number;
  readonly fates: readonly Fate[];
  /** Delay of a late response. */
  readonly lateMs: number;
}

interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Number of requests, keyed by disturbance. */
  readonly met: Readonly<Partial<Record<Fate, number>>>;
}

/** Forwards each connection to one of the services that are available when the connection is opened. */
export async function cuttingProxy(
  urls: () => readonly string[],
  chance: Chance,
  spoiling: Spoiling = { part: 0.5, fates: cuts, lateMs: 0 },
): Promise<CuttingProxy> {
  const met: Partial<Record<Fate, number>> = {};
  const links = new Set<Link>();
  const server = createServer((client) => {
    const [url] = chance.shuffled(urls());
    // No service is running, so the proxy behaves like a closed port.
    if (url === undefined) return void client.destroy();
    const { hostname, port } = new URL(url);
    const service = createConnection({ host: hostname, port: Number(port) });
    const link: Link = new Link(client, service, {
      chance,
      spoiling,
      onFate: (fate) => {
        met[fate] = (met[fate] ?? 0) + 1;
      },
      onEnd: () => links.delete(link),
    });
    links.add(link);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The proxy has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    met,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const link of [...links]) link.end();
      await closed;
    },
  };
}

/** A load balancer's HTML error page, sent instead of the service's response. */
function balancerAnswer(status: string, more: string): string {
  const page = `<html><body><h1>${status}</h1></body></html>`;
  return `HTTP/1.1 ${status}\r\nContent-Type: text/html\r\n${more}Content-Length: ${page.length}\r\n\r\n${page}`;
}

interface LinkOptions {
  readonly chance: Chance;
  readonly spoiling: Spoiling;
  readonly onFate: (fate: Fate) => void;
  readonly onEnd: () => void;
}

/** One connection through the proxy, which decides for each request whether to disturb it. */
class Link {
  readonly #client: Socket;
  readonly #service: Socket;
  readonly #options: LinkOptions;
  #request = Buffer.alloc(0);
  #answer = Buffer.alloc(0);
  #fate: Fate = 'whole';

  constructor(client: Socket, service: Socket, options: LinkOptions) {
    this.#client = client;
    this.#service = service;
    this.#options = options;
    for (const socket of [client, service]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.end());
      socket.on('close', () => this.end());
    }
    client.on('data', (bytes: Buffer) => this.#asked(bytes));
    service.on('data', (bytes: Buffer) => this.#answered(bytes));
  }

  end(): void {
    this.#client.destroy();
    this.#service.destroy();
    this.#options.onEnd();
  }

  /** Buffers a request until it is complete, so that it can be cut off in the middle. */
  #asked(bytes: Buffer): void {
    this.#request = Buffer.concat([this.#request, bytes]);
    if (this.#request.length < messageLength(this.#request)) return;
    const request = this.#request;
    this.#request = Buffer.alloc(0);
    this.#answer = Buffer.alloc(0);
    const { chance, spoiling, onFate } = this.#options;
    this.#fate = chance.often(spoiling.part) ? chance.pick(spoiling.fates) : 'whole';
    onFate(this.#fate);
    if (this.#fate === 'before') this.end();
    else if (this.#fate === '503 before') {
      this.#client.write(balancerAnswer('503 Service Unavailable', 'Retry-After: 1\r\n'));
    } else if (this.#fate === 'in the request') {
      const part = request.subarray(0, chance.int(1, request.length - 1));
      this.#service.write(part, () => this.end());
    } else if (this.#fate === 'once sent') this.#service.write(request, () => this.end());
    else this.#service.write(request);
  }

  #answered(bytes: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, bytes]);
    const { chance, spoiling } = this.#options;
    if (this.#fate === 'whole') this.#client.write(bytes);
    else if (this.#fate === 'before the answer') this.end();
    else if (this.#answer.length < messageLength(this.#answer)) return;
    else if (this.#fate === '502 after') this.#client.write(balancerAnswer('502 Bad Gateway', ''));
    else if (this.#fate === 'late') setTimeout(() => this.#client.write(this.#answer), spoiling.lateMs);
    else {
      const part = this.#answer.subarray(0, chance.int(1, this.#answer.length - 1));
      this.#client.write(part, () => this.end());
    }
  }
}

/** Total length of a message with Content-Length. Infinity until the message's head is complete. */
function messageLength(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return Number.POSITIVE_INFINITY;
  const [, length = '0'] = /^content-length: *(\d+)\r?$/im.exec(bytes.toString('latin1', 0, headEnd)) ?? [];
  return headEnd + 4 + Number(length);
}
