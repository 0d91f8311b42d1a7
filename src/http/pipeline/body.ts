import type * as z from 'zod';
import { ApiError } from '../../contract/api-error.ts';
import { maxBodyBytes, maxUploadBytes } from '../../contract/bounds.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import { InvalidMemberError, JsonError, parseJson } from '../../contract/json.ts';
import { type Body, mediaTypes, type Upload } from '../../contract/operation.ts';
import { bodyTimeoutMs, readPart, waitForParser } from '../listener/unread-body.ts';

/** A JSON body, and the errors found while parsing: duplicate members, and members named `__proto__`. */
export interface JsonBody {
  readonly bytes: Uint8Array;
  readonly value: unknown;
  readonly mistakes: readonly ErrorDetail[];
  readonly ambiguous: ReadonlySet<string>;
}

// A BOM is kept, so that the JSON parser rejects it (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const noNames: ReadonlySet<string> = new Set();

const mediaType = /^([^\t ;]+)[\t ]*(?:;(.*))?$/;
/** `utf8` is accepted, because many programs send it for `utf-8`. */
const otherCharset = /(?:^|;)[\t ]*charset=(?!"?utf-?8"?[\t ]*(?:;|$))/i;

/**
 * Reads a request's JSON body. Checks the media type and content coding, then the size, then the content. Throws
 * `unsupported_media_type`, `body_too_large`, `invalid_json`, and `invalid_body` if a required body is missing.
 */
export async function readJsonBody(request: Request, body: Body): Promise<JsonBody> {
  const { headers } = request;
  // An empty body may have any media type, because `curl -d ''` sends a Content-Type. `request.body` is read last,
  // because the property creates a stream.
  const mayBeMissing = body.optional || !headers.has('content-type');
  if (mayBeMissing && request.body === null) return missingBody(body);
  const refusal = mediaTypeError(headers, body.types ?? [mediaTypes.json]);
  if (refusal !== undefined) {
    if (mayBeMissing && (await isEmptyChunked(request))) return missingBody(body);
    throw refusal;
  }
  const bytes = await readBytes(request, body.maxBytes ?? maxBodyBytes);
  return bytes.length === 0 ? missingBody(body) : parseBody(bytes);
}

/** The error for a body with another media type, and for a compressed body. */
function mediaTypeError(headers: Headers, types: readonly string[]): ApiError | undefined {
  const details: ErrorDetail[] = [];
  const add = (name: string, message: string) => details.push({ in: 'header', name, message });
  const [, type = '', parameters = ''] = mediaType.exec(headers.get('content-type')?.trim() ?? '') ?? [];
  if (!types.includes(type.toLowerCase()) || otherCharset.test(parameters))
    add('Content-Type', `must be ${types.join(' or ')}, in UTF-8`);
  // Compressed bodies are rejected (RFC 9110 section 8.4), because a small body could expand to any size.
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity')
    add('Content-Encoding', 'is not supported; send the body uncompressed');
  return details.length === 0 ? undefined : new ApiError('unsupported_media_type', { details });
}

function missingBody({ schema, optional }: Body): JsonBody {
  if (optional) return { bytes: new Uint8Array(), value: {}, mistakes: [], ambiguous: noNames };
  const required = Object.entries(schema.shape).flatMap(([name, member]) =>
    (member as z.ZodType).safeParse(undefined).success ? [] : [`"${name}"`],
  );
  const withThese = required.length === 0 ? '' : ` with ${required.join(' and ')}`;
  throw new ApiError('invalid_body', {
    message: `The request body is missing. Send a JSON object${withThese}.`,
  });
}

/** Uses a single promise for the body and the timeout, because promise chains are slower. */
function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > maxBytes) throw bodyTooLargeError(maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const timer = setTimeout(
    () => reject(new ApiError('invalid_json', { message: slowMessage })),
    bodyTimeoutMs,
  );
  const read = request.headers.has('transfer-encoding') ? readChunks(request, maxBytes) : request.bytes();
  read.then(
    (bytes) => {
      clearTimeout(timer);
      resolve(bytes);
    },
    (error) => {
      clearTimeout(timer);
      reject(interruptedBodyError(error));
    },
  );
  return promise;
}

/** Reading fails if the client disconnects or sends malformed chunks. This is a client error, and is not logged. */
function interruptedBodyError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('invalid_json', { message: interruptedMessage });
}

const interruptedMessage = 'The request body is incomplete.';

const slowMessage = `The request body did not arrive within ${bodyTimeoutMs / 1_000} seconds.`;

/** Whether a chunked body is empty, which can only be determined by reading it. A body with bytes is discarded. */
async function isEmptyChunked(request: Request): Promise<boolean> {
  if (!request.headers.has('transfer-encoding')) return false;
  return readBytes(request, 0).then(
    () => true,
    () => false,
  );
}

/** Maximum number of chunks in a body. Each costs 1 µs of CPU time, even if it has a single byte. */
export const maxChunks = 1_024;

const tooManyChunks = `The request body has more than ${maxChunks} chunks. Send larger chunks.`;

async function readChunks(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body === null ? [] : readPart(request.body)) {
    length += chunk.length;
    if (length > maxBytes) throw bodyTooLargeError(maxBytes);
    chunks.push(chunk);
    if (chunks.length > maxChunks) throw new ApiError('invalid_json', { message: tooManyChunks });
  }
  await waitForParser();
  // If the signal is aborted, the runtime has already responded with 400, so the operation must not run.
  request.signal.throwIfAborted();
  return Buffer.concat(chunks, length);
}

function bodyTooLargeError(maxBytes: number, what = 'request body'): ApiError {
  return new ApiError('body_too_large', { message: `The ${what} is larger than ${maxBytes} bytes.` });
}

function parseBody(bytes: Uint8Array): JsonBody {
  try {
    return { bytes, value: parseJson(utf8.decode(bytes)), mistakes: [], ambiguous: noNames };
  } catch (error) {
    if (error instanceof InvalidMemberError) {
      const mistakes = [...error.mistakes].map(
        ([name, message]): ErrorDetail => ({ in: 'body', name, message }),
      );
      return { bytes, value: error.value, mistakes, ambiguous: error.outermost };
    }
    const reason = error instanceof JsonError ? `JSON: ${error.message}` : 'UTF-8';
    throw new ApiError('invalid_json', { message: `The request body is not valid ${reason}.` });
  }
}

/**
 * The request body as a stream, which can be read once. Throws `unsupported_media_type` and `body_too_large`. The
 * stream may also throw `body_too_large` while it is read.
 */
export function readUpload({ headers, body }: Request, { types }: Upload): AsyncIterable<Uint8Array> {
  const refusal = mediaTypeError(headers, types);
  if (refusal !== undefined) throw refusal;
  if (Number(headers.get('content-length')) > maxUploadBytes) throw bodyTooLargeError(maxUploadBytes, 'file');
  return limitBytes(body ?? []);
}

async function* limitBytes(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxUploadBytes) throw bodyTooLargeError(maxUploadBytes, 'file');
    yield chunk;
  }
}
