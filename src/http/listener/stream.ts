import type { StreamSink, StreamSource } from '../../contract/operation.ts';
import type { BusyConnections } from './busy-connections.ts';

type Server = Pick<Bun.Server<undefined>, 'requestIP' | 'timeout'>;

/**
 * The body of a stream. Its connection is busy until the stream ends, and not closed by a time-out. Without closures, and
 * without the request once it began, for thousands of streams may be idle.
 */
class StreamBody implements Bun.DirectUnderlyingSource, Disposable {
  readonly type = 'direct';
  readonly #source: StreamSource;
  readonly #server: Server;
  readonly #busy: BusyConnections;
  #request: Request | undefined;

  constructor(source: StreamSource, request: Request, server: Server, busy: BusyConnections) {
    this.#source = source;
    this.#request = request;
    this.#server = server;
    this.#busy = busy;
  }

  /** Called when the request counts as answered, so that nothing undoes this. */
  pull(sink: StreamSink): void {
    if (this.#request === undefined) return;
    this.#server.timeout(this.#request, 0);
    this.#busy.keep(this.#request, this.#server, this);
    this.#request = undefined;
    this.#source.connection = this;
    this.#source.pull(sink);
  }

  cancel(): void {
    this.#source.cancel();
  }

  [Symbol.dispose](): void {
    this.#busy.release(this);
  }
}

export function streamOf(...parts: ConstructorParameters<typeof StreamBody>): ReadableStream {
  return new ReadableStream(new StreamBody(...parts));
}
