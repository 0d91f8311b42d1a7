/** A proxy before the service that cuts connections at a moment chosen by chance, request by request. */
import { createConnection, createServer, type Socket } from 'node:net';
import type { Chance } from './generate/chance.ts';

/** Where a request is cut off; `whole`: nowhere. */
export const fates = [
  'whole',
  'before',
  'in the request',
  'once sent',
  'before the answer',
  'in the answer',
] as const;
export type Fate = (typeof fates)[number];

/** How often one is cut: then each of the five moments comes as often as the others. */
const cutPart = 0.5;

export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** How many requests met each fate. */
  readonly met: Readonly<Record<Fate, number>>;
}

/** Each connection goes to one of the services there are when it is opened. */
export async function cuttingProxy(urls: () => readonly string[], chance: Chance): Promise<CuttingProxy> {
  const met: Record<Fate, number> = {
    whole: 0,
    before: 0,
    'in the request': 0,
    'once sent': 0,
    'before the answer': 0,
    'in the answer': 0,
  };
  const links = new Set<Link>();
  const server = createServer((client) => {
    const [url] = chance.shuffled(urls());
    // Nobody serves at the moment, as when a port is closed.
    if (url === undefined) return void client.destroy();
    const { hostname, port } = new URL(url);
    const service = createConnection({ host: hostname, port: Number(port) });
    const link: Link = new Link(client, service, {
      chance,
      onFate: (fate) => met[fate]++,
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

interface LinkOptions {
  readonly chance: Chance;
  readonly onFate: (fate: Fate) => void;
  readonly onEnd: () => void;
}

/** One connection through the proxy: one request after the other, each with a fate of its own. */
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

  /** A request is held until it is complete, so that it is known where its middle is. */
  #asked(bytes: Buffer): void {
    this.#request = Buffer.concat([this.#request, bytes]);
    if (this.#request.length < messageLength(this.#request)) return;
    const request = this.#request;
    this.#request = Buffer.alloc(0);
    this.#answer = Buffer.alloc(0);
    const { chance, onFate } = this.#options;
    this.#fate = chance.often(cutPart) ? chance.pick(fates.slice(1)) : 'whole';
    onFate(this.#fate);
    if (this.#fate === 'before') this.end();
    else if (this.#fate === 'in the request') {
      const part = request.subarray(0, chance.int(1, request.length - 1));
      this.#service.write(part, () => this.end());
    } else if (this.#fate === 'once sent') this.#service.write(request, () => this.end());
    else this.#service.write(request);
  }

  #answered(bytes: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, bytes]);
    if (this.#fate === 'whole') this.#client.write(bytes);
    else if (this.#fate === 'before the answer') this.end();
    else if (this.#answer.length >= messageLength(this.#answer)) {
      const part = this.#answer.subarray(0, this.#options.chance.int(1, this.#answer.length - 1));
      this.#client.write(part, () => this.end());
    }
  }
}

/** How long a message with Content-Length is; unending as long as its head is not complete. */
function messageLength(bytes: Buffer): number {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return Number.POSITIVE_INFINITY;
  const [, length = '0'] = /^content-length: *(\d+)\r?$/im.exec(bytes.toString('latin1', 0, headEnd)) ?? [];
  return headEnd + 4 + Number(length);
}
