import type { FileContent } from '../../contract/operation.ts';
import { Pacer } from '../../domain/pacer.ts';
import type { AdminOperation } from './context.ts';
import type { AdminPlainResponse } from './reply.ts';

/**
 * An NDJSON response that is generated while it is sent, at the reader's pace. An error before the first line results
 * in an error response. A later error aborts the response, so that clients can detect that it is incomplete. Calls
 * `ended` after the last line, after an error or after an abort.
 */
export async function streamLines(
  { operationId }: AdminOperation,
  { method }: Request,
  lines: AsyncIterable<string>,
  ended: () => void = () => undefined,
): Promise<AdminPlainResponse> {
  const headers = {
    'Content-Type': 'application/x-ndjson',
    'Content-Disposition': `attachment; filename="${operationId}.ndjson"`,
  };
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (method === 'HEAD') {
    await iterator.return?.();
    return { status: 200, body: null, headers };
  }
  return { status: 200, body: toStream(iterator, first, ended), headers };
}

function toStream(
  iterator: AsyncIterator<string>,
  first: IteratorResult<string>,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const pacer = new Pacer();
  let waiting: IteratorResult<string> | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      try {
        // A fast reader would otherwise receive all lines in one event-loop tick.
        if (pacer.isDue) await pacer.pause();
        const { done, value } = waiting ?? (await iterator.next());
        waiting = undefined;
        if (!done) return controller.enqueue(encoder.encode(`${value}\n`));
        ended();
        controller.close();
      } catch (error) {
        ended();
        throw error;
      }
    },
    async cancel() {
      ended();
      await iterator.return?.();
    },
  });
}

/** A file that browsers save instead of displaying. The service chooses the file name. */
export function downloadResponse({ name, content }: FileContent): AdminPlainResponse {
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
  };
  return { status: 200, body: content, headers };
}
