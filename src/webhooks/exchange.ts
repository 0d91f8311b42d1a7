/** A single HTTP/1.1 exchange on a connection to a receiver. */
import { type Connection, endedIn, type PhaseError } from './connection.ts';
import { type Reply, ResponseReader } from './response-reader.ts';

/** Maximum number of bytes received over TLS, including messages that carry no data, such as session tickets. */
const maxTlsBytes = 65_536;
/** Messages without data cause no event. */
const countTlsEveryMs = 100;

/**
 * Sends a request and reads the response. Never rejects. Once the status has arrived, the exchange succeeds. A slow or
 * incomplete body is truncated. `keep` receives the connection if it can be used for another request; otherwise the
 * connection is closed. `ending` must abort with an `Ending` as its reason.
 */
export function exchange(
  connection: Connection,
  request: Uint8Array,
  keep: (connection: Connection) => void,
  ending: AbortSignal,
): Promise<Reply | PhaseError> {
  const { socket, transport } = connection;
  const { promise, resolve } = Promise.withResolvers<Reply | PhaseError>();
  const reader = new ResponseReader();
  const settle = (error: PhaseError = { error: 'response', message: reader.problem }) => {
    clearInterval(timer);
    ending.removeEventListener('abort', end);
    socket.off('data', read).off('error', fail).off('close', over);
    if (reader.isReusable) keep(connection);
    else socket.destroy();
    resolve(reader.reply ?? { ...error, isSilent: !reader.hasBegun });
  };
  const end = () => settle(endedIn('response', ending.reason));
  const fail = ({ message }: Error) => settle({ error: 'response', message });
  const over = () => settle();
  const read = (bytes: Buffer) => {
    reader.read(bytes);
    if (reader.isDone) settle();
  };
  const countTls = () => {
    if (transport.bytesRead - before > maxTlsBytes)
      fail(new Error('The receiver sent too many TLS messages.'));
  };
  const before = transport.bytesRead;
  const timer = socket === transport ? undefined : setInterval(countTls, countTlsEveryMs);
  socket.on('data', read).on('error', fail).on('close', over);
  ending.addEventListener('abort', end);
  if (ending.aborted) end();
  else socket.write(request);
  return promise;
}
