import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Maximum length of a reported reason. Cuts off the advice that follows some Redis errors. */
const maxReasonLength = 200;

/**
 * Finds the reason for a failed connection, because the driver only reports that the connection was closed. Resolves
 * with undefined if connecting without the driver succeeds.
 */
export async function diagnoseConnection(url: string, timeoutMs: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(`no response within ${timeoutMs} ms`), timeoutMs);
  const socket = openSocket(new URL(url));
  socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.message || error.code));
  socket.on('close', () => resolve('connection closed by the server'));
  socket.on('data', (bytes) => {
    for (const line of bytes.toString().split('\r\n')) {
      if (line.startsWith('-')) resolve(line.slice(1, 1 + maxReasonLength));
      if (line === '+PONG') resolve(undefined);
    }
  });
  socket.write(encodeGreeting(new URL(url)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

function openSocket({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, '');
  const address = { host, port: Number(port || 6379) };
  if (protocol !== 'rediss:') return connect(address);
  return connectTls(isIP(host) === 0 ? { ...address, servername: host } : address);
}

/** Encodes AUTH (if there is a password) and PING in the Redis protocol. */
function encodeGreeting({ username, password }: URL): string {
  const auth = ['AUTH', username, password].filter((word) => word !== '').map(decodeURIComponent);
  const commands = password === '' ? [['PING']] : [auth, ['PING']];
  return commands.map(encodeCommand).join('');
}

function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
