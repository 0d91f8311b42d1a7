import { createConnection } from 'node:net';
import { type BeginDrained, ownService } from './drain.ts';

interface ReconnectingResult {
  readonly answered: number;
  /** Number of clients whose connection was refused before they sent data. */
  readonly refused: number;
  /** Errors of requests that were sent but got no complete response. */
  readonly failures: readonly string[];
  readonly exitCode: number;
}

type Outcome = 'answered' | 'refused' | { readonly failure: string };

/** Sends one request with `Connection: close` on a new connection. */
function requestOf(url: string, key: string): Promise<Outcome> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const socket = createConnection({ host: hostname, port: Number(port) });
  let received = '';
  let connected = false;
  socket.setEncoding('utf8');
  socket.on('connect', () => {
    connected = true;
    socket.write(
      `GET /v1/pets HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
  });
  socket.on('data', (text: string) => {
    received += text;
  });
  socket.on('error', (error) => resolve(connected ? { failure: error.message } : 'refused'));
  socket.on('close', () => {
    const isWhole = received.startsWith('HTTP/1.1 200') && received.endsWith('[]');
    resolve(isWhole ? 'answered' : { failure: `closed after ${received.length} characters` });
  });
  return promise;
}

/**
 * Stops the service while clients open a new connection for each request, so that the system's accept queue is never
 * empty. The clients continue until they are refused.
 */
export async function stopUnderReconnecting(
  clients: number,
  drainSeconds: number,
  begin: BeginDrained = ownService,
): Promise<ReconnectingResult> {
  await using drained = await begin({ DRAIN_SECONDS: String(drainSeconds) });
  const { service, key } = drained;
  const failures: string[] = [];
  let answered = 0;
  let refused = 0;
  const underWay = Promise.withResolvers<void>();

  const client = async (): Promise<void> => {
    for (;;) {
      const outcome = await requestOf(service.url, key);
      if (outcome === 'answered') answered++;
      else if (outcome === 'refused') refused++;
      else failures.push(outcome.failure);
      if (answered >= 10 * clients) underWay.resolve();
      if (outcome === 'refused') return;
    }
  };
  const all = Array.from({ length: clients }, client);
  await underWay.promise;
  service.signal('SIGTERM');
  await Promise.all(all);
  return { answered, refused, failures, exitCode: await service.exited };
}
