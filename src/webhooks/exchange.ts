/** A single HTTP/1.1 exchange with one address. */
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';

const maxBodyBytes = 1_024;

/** The phases of an exchange, in order. `tls` applies only to https. */
export type Phase = 'connect' | 'tls' | 'response';

/** The reason why an exchange is aborted. */
export type Ending = 'timeout' | 'aborted';

export interface Reply {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The first 1,024 bytes of the body, as text. */
  readonly body: string;
}

export interface ExchangeError {
  readonly error: Phase | Ending;
  readonly message: string;
  /** Whether the connection was reused, in which case the receiver may have closed it before the request arrived. */
  readonly isReused: boolean;
}

const phaseNames: Readonly<Record<Phase, string>> = {
  connect: 'connection',
  tls: 'TLS handshake',
  response: 'response',
};

/** Error message for an aborted exchange. `awaited` is the phase that did not finish. */
export function endedMessage(ending: Ending, awaited: string): string {
  return ending === 'timeout' ? `The ${awaited} took too long.` : 'The request was aborted.';
}

/**
 * Sends a request. Never rejects. Once the status has arrived, the exchange succeeds. A slow or incomplete body is
 * truncated. `ending` must abort with an `Ending` as its reason.
 */
export function exchange(
  options: RequestOptions,
  body: string | Uint8Array,
  ending: AbortSignal,
): Promise<Reply | ExchangeError> {
  const { promise, resolve } = Promise.withResolvers<Reply | ExchangeError>();
  const isSecure = options.protocol === 'https:';
  const request = (isSecure ? https : http).request(options);
  let phase: Phase = 'connect';
  let response: IncomingMessage | undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;

  const settle = (error: Phase | Ending, message: string) => {
    ending.removeEventListener('abort', end);
    const isReused = request.reusedSocket;
    resolve(response === undefined ? { error, message, isReused } : replyOf(response, chunks));
  };
  const end = () => {
    settle(ending.reason, endedMessage(ending.reason, phaseNames[phase]));
    request.destroy();
  };
  const over = () => settle(phase, 'The response ended early.');

  request.on('socket', (socket) => {
    if (!socket.connecting) {
      phase = 'response';
      return;
    }
    socket.once('connect', () => {
      phase = isSecure ? 'tls' : 'response';
    });
    socket.once('secureConnect', () => {
      phase = 'response';
    });
  });
  request.on('error', ({ message }) => settle(phase, message));
  request.on('close', over);
  request.on('upgrade', (switched, socket) => {
    response = switched;
    over();
    socket.destroy();
  });
  request.on('response', (arrived) => {
    response = arrived;
    arrived.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes < maxBodyBytes) return;
      over();
      request.destroy();
    });
    for (const event of ['end', 'error', 'close']) arrived.on(event, over);
  });

  ending.addEventListener('abort', end);
  if (ending.aborted) end();
  else request.end(body);
  return promise;
}

function replyOf({ statusCode = 0, headers }: IncomingMessage, chunks: readonly Buffer[]): Reply {
  const bytes = Buffer.concat(chunks).subarray(0, maxBodyBytes);
  // With `stream: true`, an incomplete character at the end is omitted.
  const body = new TextDecoder().decode(bytes, { stream: true });
  return { status: statusCode, retryAfter: headers['retry-after'], body };
}
