import { connect, createServer, type Socket } from 'node:net';

/** An address that forwards to one server, and later to another server. */
export function movableAddress(serverUrl: string) {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('data', (data) => void other.write(data));
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const url = new URL(serverUrl);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    /** New connections lead to another server. Existing ones stay open. */
    redirect(to: string): void {
      target = new URL(to);
    },
    move(to: string): void {
      target = new URL(to);
      cut();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      cut();
      server.close();
    },
  };
}
