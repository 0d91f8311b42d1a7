import type { StreamSource } from '../../contract/operation.ts';
import type { BusyConnections } from './busy-connections.ts';

/**
 * The body of a stream. Its connection is busy until its end, and no time-out closes it: the runtime would, when nothing
 * is sent for long.
 */
export function streamOf(
  source: StreamSource,
  request: Request,
  server: Pick<Bun.Server<undefined>, 'requestIP' | 'timeout'>,
  busy: BusyConnections,
): ReadableStream {
  return new ReadableStream({
    type: 'direct',
    // Called when the request counts as answered, so that nothing undoes this.
    pull(sink) {
      server.timeout(request, 0);
      busy.keep(request, server);
      source.onEnd = () => busy.release(request);
      source.pull(sink);
    },
    cancel: () => source.cancel(),
  });
}
