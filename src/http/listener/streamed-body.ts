import type { StreamSink, StreamSource } from '../../contract/operation.ts';
import type { BusyConnections } from './busy-connections.ts';

type Server = Pick<Bun.Server<undefined>, 'requestIP' | 'timeout'>;

/**
 * The body of a streamed response. The connection is busy until the stream ends, and has no idle timeout. To save
 * memory with thousands of idle streams, this class has no closures, and drops the request once the stream has started.
 */
export class StreamBody implements Bun.DirectUnderlyingSource, Disposable {
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

  /**
   * The runtime calls this after the handler has returned the response. Changes before that would be lost, because
   * returning the response restores the idle timeout and releases the request.
   */
  pull(sink: StreamSink): void {
    if (this.#request === undefined) return;
    this.#server.timeout(this.#request, 0);
    this.#busy.keepStream(this, this.#request, this.#server);
    this.#request = undefined;
    this.#source.connection = this;
    this.#source.pull(sink);
  }

  cancel(): void {
    this.#source.cancel();
  }

  [Symbol.dispose](): void {
    this.#busy.releaseStream(this);
  }
}
