import type { AdminOperation } from './context.ts';
import type { AdminAnswer } from './replies.ts';

/**
 * NDJSON that is made while it is sent, as fast as it is read. What goes wrong before the first line is refused like any
 * other; afterwards the answer is broken off, so that nobody takes a part for all.
 */
export async function linesAnswer(
  { operationId }: AdminOperation,
  { method }: Request,
  lines: AsyncIterable<string>,
): Promise<AdminAnswer> {
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
  return { status: 200, body: streamOf(iterator, first), headers };
}

function streamOf(
  iterator: AsyncIterator<string>,
  first: IteratorResult<string>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let waiting: IteratorResult<string> | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = waiting ?? (await iterator.next());
      waiting = undefined;
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`${value}\n`));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
