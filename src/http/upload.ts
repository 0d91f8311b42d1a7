import { maxUploadBytes } from '../contract/bounds.ts';
import type { Upload } from '../contract/operation.ts';
import { Refusal } from '../domain/refusal.ts';
import { refuseOtherMedia } from './body.ts';

/**
 * The body of a request as it comes, to be read once. Refuses `unsupported_media_type` and `body_too_large`, the latter also
 * while it is read.
 */
export function uploadOf({ headers, body }: Request, { types }: Upload): AsyncIterable<Uint8Array> {
  refuseOtherMedia(headers, types);
  if (Number(headers.get('content-length')) > maxUploadBytes) throw tooLarge();
  return bounded(body ?? []);
}

async function* bounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxUploadBytes) throw tooLarge();
    yield chunk;
  }
}

function tooLarge(): Refusal {
  return new Refusal('body_too_large', { message: `The file is larger than ${maxUploadBytes} bytes.` });
}
