import { JsonError, MemberError, parseJson } from '../contract/json.ts';
import { maxBodyBytes } from '../contract/operations.ts';
import { Refusal } from '../domain/refusal.ts';

/** How long a body may take to arrive in full. */
const bodyTimeoutMs = 10_000;

// A BOM is kept, so that the JSON parser refuses it (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const jsonType = /^application\/json[\t ]*(?:;(.*))?$/i;
const otherCharset = /(?:^|;)[\t ]*charset=(?!"?utf-8"?[\t ]*(?:;|$))/i;

/**
 * Reads a request's JSON body: media type, then size, then content. Refuses `unsupported_media_type`,
 * `body_too_large`, `invalid_json` and `invalid_body`.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type');
  if (type === null && request.body === null) throw missingBody();
  const [json, parameters = ''] = jsonType.exec(type?.trim() ?? '') ?? [];
  if (json === undefined || otherCharset.test(parameters)) throw new Refusal('unsupported_media_type');
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw missingBody();
  return parse(bytes);
}

function missingBody(): Refusal {
  return new Refusal('invalid_body', {
    message: 'The request body is missing. Send a JSON object with "name" and "categoryId".',
  });
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > maxBodyBytes) throw new Refusal('body_too_large');
  let timer: Timer | undefined;
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Refusal('invalid_json', { message: slowMessage })), bodyTimeoutMs);
  });
  const read = Number.isNaN(declared) ? readChunks(request) : request.bytes();
  return Promise.race([read.catch(brokenOff), tooSlow]).finally(() => clearTimeout(timer));
}

/** Reading fails when the client goes away or garbles its chunks: its mistake, and nothing for the operator's log. */
function brokenOff(error: unknown): never {
  throw error instanceof Refusal ? error : new Refusal('invalid_json', { message: brokenOffMessage });
}

const brokenOffMessage = 'The request body broke off before its end.';

const slowMessage = `The request body did not arrive within ${bodyTimeoutMs / 1_000} seconds.`;

/** A body of undeclared length: read until it ends or passes the bound. */
async function readChunks(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > maxBodyBytes) throw new Refusal('body_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof JsonError) {
      throw new Refusal('invalid_json', { message: `The request body is not valid JSON: ${error.message}.` });
    }
    if (error instanceof MemberError) {
      const mistakes = [...error.mistakes];
      throw new Refusal('invalid_body', {
        details: mistakes.map(([name, message]) => ({ in: 'body', name, message })),
        message: `The request body is invalid: ${error.message}.`,
      });
    }
    throw new Refusal('invalid_json', { message: 'The request body is not valid UTF-8.' });
  }
}
