/** A webhook receiver that can respond with arbitrary bytes, to simulate any misbehavior. */
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { readConfig } from '../../src/config.ts';
import type { Network } from '../../src/domain/address.ts';
import type { Certificate } from '../support/certificates.ts';

export interface Receiver extends AsyncDisposable {
  readonly port: number;
  /** The raw requests. */
  readonly requests: readonly string[];
  /** Server name in the TLS handshake of each connection. Undefined for connections without TLS. */
  readonly names: readonly unknown[];
  connections(): { readonly opened: number; readonly closed: number };
}

/** Called for every complete request. For a raw receiver, called whenever data is received. */
type Respond = (socket: Socket, request: string) => void;

export async function startReceiver(
  respond: Respond,
  options: { host?: string; port?: number; tls?: Certificate | undefined; isRaw?: true } = {},
): Promise<Receiver> {
  const { host = '127.0.0.1', port = 0, tls, isRaw = false } = options;
  const requests: string[] = [];
  const names: unknown[] = [];
  const sockets = new Set<Socket>();
  let closed = 0;
  const accept = (socket: Socket) => {
    sockets.add(socket);
    names.push((socket as Partial<TLSSocket>).servername);
    let request = '';
    socket.on('error', () => socket.destroy());
    socket.on('close', () => closed++);
    socket.on('data', (chunk) => {
      request += chunk;
      if (!isRaw && !isComplete(request)) return;
      requests.push(request);
      request = '';
      respond(socket, requests.at(-1) ?? '');
    });
  };
  const server =
    tls === undefined
      ? createTcpServer(accept)
      : createTlsServer({ cert: tls.certificate, key: tls.key }, accept);
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    names,
    connections: () => ({ opened: sockets.size, closed }),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function isComplete(request: string): boolean {
  const [head = '', body] = request.split('\r\n\r\n');
  return body !== undefined && body.length >= Number(/^content-length: (\d+)/im.exec(head)?.[1]);
}

/** A response with a body and Content-Length. */
export function response(status: string, body = '', ...headers: string[]): string {
  const lines = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${body.length}`, '', body];
  return lines.join('\r\n');
}

/** Allowed networks, parsed like the setting WEBHOOK_ALLOWED_NETWORKS. */
export function allowing(networks: string): readonly Network[] {
  return readConfig({ WEBHOOK_ALLOWED_NETWORKS: networks }).webhooks.allowedNetworks;
}

/** Writes `first`, and then `others` repeatedly until the connection is closed. */
export function repeat(socket: Socket, first: string, others: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(others), 1);
  socket.on('close', () => clearInterval(timer));
}

/** Runs a test with these environment variables, and restores the environment. */
export async function withEnvironment(
  variables: Readonly<Record<string, string>>,
  run: () => Promise<void>,
): Promise<void> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  try {
    await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** All environment variables that make programs use a proxy. */
export function proxyVariables({ port }: Receiver): Record<string, string> {
  const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'];
  const proxies = names.map((name) => [name, `http://127.0.0.1:${port}`] as const);
  return { ...Object.fromEntries(proxies), NODE_USE_ENV_PROXY: '1' };
}
