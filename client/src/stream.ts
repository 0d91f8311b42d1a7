/** Reads a stream of server-sent events (WHATWG HTML, section 9.2.6). */
import { onAbort } from './abort.js';
import type { Clock } from './clock.js';

/** A message with an id. */
export interface Message {
  readonly id: string;
  readonly data: string;
}

/** Time without data, in ms, after which a connection counts as broken. The service sends a comment every 15 s. */
const silenceMs = 45_000;
/** Maximum length of a message in UTF-16 code units. */
const maxMessageLength = 1_048_576;

/**
 * Yields messages until the stream ends, breaks, stalls or is aborted. Ignores messages without an id, and fields that
 * newer versions of the service may add. A message that is incomplete when the stream ends is discarded.
 */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncGenerator<Message, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const close = () => void reader.cancel().catch(() => {});
  const stop = onAbort(signal, close);
  let rest = '';
  let fields: Record<string, string> = {};
  try {
    while (!signal?.aborted) {
      const cancel = clock.after(silenceMs, close);
      const chunk = await reader.read().catch(() => undefined);
      cancel();
      if (chunk?.value === undefined) return;
      const lines = (rest + decoder.decode(chunk.value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { id, data } = fields;
        const [, name = '', value = ''] = /^(\w*):? ?(.*?)\r?$/s.exec(line) ?? [];
        if (/^\r?$/.test(line)) {
          fields = {};
          if (id !== undefined && data !== undefined) yield { id, data };
        } else if (name === 'id') fields = { ...fields, id: value };
        else if (name === 'data')
          fields = { ...fields, data: data === undefined ? value : `${data}\n${value}` };
      }
      if (rest.length + (fields.data?.length ?? 0) > maxMessageLength) return;
    }
  } finally {
    stop();
    close();
  }
}
