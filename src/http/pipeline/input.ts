import { ApiError } from '../../contract/api-error.ts';
import { maxDetails, maxNameLength } from '../../contract/bounds.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import { parseInt64 } from '../../contract/json.ts';
import type { Operation } from '../../contract/operation.ts';
import { type ValidationResult, validate } from '../../contract/validation.ts';
import { type Awaitable, andThen, orElse } from '../../domain/awaitable.ts';
import type { Preconditions } from '../../operations/changes/preconditions.ts';
import type { OperationRequest } from '../../operations/client-operations.ts';
import { type JsonBody, readJsonBody, readUpload } from './body.ts';
import { readPreconditions } from './conditions.ts';
import { readIdempotencyKey } from './idempotency.ts';
import { readQuery, requestQuery } from './query.ts';

export interface Input<Read = OperationRequest['input']> {
  readonly input: Read;
  readonly preconditions: Preconditions;
  readonly idempotencyKey: string | undefined;
  readonly bytes: Uint8Array;
}

const noBytes = new Uint8Array();

/**
 * Reads and validates a request. Rejects an unsupported or oversized body, then reports all validation errors in one
 * `invalid_parameter` or `invalid_body` error (400), and finally refuses ids that no resource can have.
 */
export function readInput<Read = OperationRequest['input']>(
  operation: Operation,
  request: Request,
  path: Readonly<Record<string, string>>,
): Awaitable<Input<Read>> {
  const upload = operation.upload && readUpload(request, operation.upload);
  const read = () => operation.body && readJsonBody(request, operation.body);
  return andThen(orElse<JsonBody | ApiError | undefined>(read, asBodyError), (json) => {
    const params = readParams(operation, path);
    const query = expectNoChunks(
      operation,
      request.headers,
      applyLastEventId(operation, request.headers, readQuery(operation, requestQuery(request.url))),
    );
    const preconditions = readPreconditions(operation, request.headers);
    const idempotencyKey = readIdempotencyKey(operation, request.headers);
    const body = operation.body && json ? checkBody(operation.body.schema, json) : noBody;
    if (
      'mistakes' in params ||
      'mistakes' in query ||
      'mistakes' in preconditions ||
      'mistakes' in idempotencyKey ||
      'mistakes' in body
    ) {
      const mistakes = [params, query, preconditions, idempotencyKey, body].flatMap(validationErrors);
      if (!(json instanceof ApiError)) throw validationError(mistakes);
      throw mistakes.length === 1 ? json : validationError(mistakes, json.code);
    }
    expectValidIds(operation, params.value);
    return {
      // The values were produced by the operation's schemas, so they have the operation's types.
      input: {
        params: params.value,
        query: query.value,
        body: body.value,
        ...(upload && { upload }),
      } as Read,
      preconditions: preconditions.value,
      idempotencyKey: idempotencyKey.value,
      bytes: json instanceof ApiError ? noBytes : (json?.bytes ?? noBytes),
    };
  });
}

function validationErrors(checked: ValidationResult<unknown>): readonly ErrorDetail[] {
  return 'mistakes' in checked ? checked.mistakes : [];
}

const noParams: ValidationResult<Readonly<Record<string, bigint>>> = { value: {} };

/**
 * Parses the path parameters. An invalid int64 is a validation error, unless the operation has a specific error for it
 * (`otherwise`).
 */
function readParams(
  { params }: Operation,
  path: Readonly<Record<string, string>>,
): ValidationResult<Readonly<Record<string, bigint>>> {
  if (params === undefined) return noParams;
  const values: Record<string, bigint> = {};
  const mistakes: ErrorDetail[] = [];
  for (const name in params) {
    const value = parseInt64(path[name] ?? '');
    if (value !== undefined) values[name] = value;
    else if (params[name]?.otherwise === undefined) {
      mistakes.push({ in: 'path', name, message: 'must be a 64-bit integer, in plain decimal digits' });
    }
  }
  return mistakes.length > 0 ? { mistakes } : { value: values };
}

/** Throws the operation's specific error for an invalid int64. */
function expectValidIds({ params }: Operation, values: Readonly<Record<string, bigint>>): void {
  for (const name in params) {
    const otherwise = params[name]?.otherwise;
    if (otherwise !== undefined && values[name] === undefined) throw new ApiError(otherwise);
  }
}

/** For a stream, `Last-Event-ID` replaces `after` (WHATWG HTML, section 9.2.4). */
function applyLastEventId(
  { success }: Operation,
  headers: Headers,
  query: ValidationResult<unknown>,
): ValidationResult<unknown> {
  const sent = success.stream && headers.get('last-event-id');
  // Some clients send an empty header before their first event.
  if (!sent) return query;
  const after = parseInt64(sent);
  if (after !== undefined)
    return 'mistakes' in query ? query : { value: { ...(query.value as object), after } };
  const message = 'must be a 64-bit integer, in plain decimal digits';
  return { mistakes: [...validationErrors(query), { in: 'header', name: 'Last-Event-ID', message }] };
}

/**
 * Rejects a chunked request that waits for events. The runtime does not let the service read the body of a GET request, but
 * parses all that the client sends until the response, which in small chunks occupies the whole event loop.
 */
function expectNoChunks(
  { success }: Operation,
  headers: Headers,
  query: ValidationResult<unknown>,
): ValidationResult<unknown> {
  const waits = success.stream || ('value' in query && (query.value as { wait?: number } | undefined)?.wait);
  if (!waits || headers.get('transfer-encoding') === null) return query;
  const message = 'must be absent from a request that waits for events, which has no body';
  return { mistakes: [...validationErrors(query), { in: 'header', name: 'Transfer-Encoding', message }] };
}

const noBody: ValidationResult<unknown> = { value: undefined };

/**
 * Returns the error if the body is missing or not valid JSON, to list it with the other validation errors. Rethrows
 * other errors, because they take precedence.
 */
function asBodyError(error: unknown): ApiError {
  if (error instanceof ApiError && (error.code === 'invalid_json' || error.code === 'invalid_body'))
    return error;
  throw error;
}

function checkBody(
  schema: NonNullable<Operation['body']>['schema'],
  body: JsonBody | ApiError,
): ValidationResult<unknown> {
  if (body instanceof ApiError) {
    const [, message = ''] = /^The request body (.*)\.$/.exec(body.message ?? '') ?? [];
    return { mistakes: [{ in: 'body', name: '', message }] };
  }
  const { value, mistakes, ambiguous } = body;
  const checked = validate(schema, value, 'body');
  if (mistakes.length === 0) return checked;
  const others = 'mistakes' in checked ? checked.mistakes.filter(({ name }) => !ambiguous.has(name)) : [];
  return { mistakes: [...mistakes, ...others] };
}

/** An error that lists up to `maxDetails` of the errors. Long names from the client are shortened. */
export function validationError(all: readonly ErrorDetail[], code?: ApiError['code']): ApiError {
  const details = all.slice(0, maxDetails).map((detail) => ({ ...detail, name: truncateName(detail.name) }));
  const isBody = details[0]?.in === 'body';
  const unnamed = all.length - details.length;
  const more = unnamed === 0 ? [] : [`and ${unnamed} more ${unnamed === 1 ? 'mistake' : 'mistakes'}`];
  const mistakes = details
    .map(({ in: place, name, message }) => `${name || `the ${place}`} ${message}`)
    .concat(more)
    .join('; ');
  const message = `The ${isBody ? 'request body' : 'request'} is invalid: ${mistakes}.`;
  return new ApiError(code ?? (isBody ? 'invalid_body' : 'invalid_parameter'), { details, message });
}

function truncateName(name: string): string {
  if (name.length <= maxNameLength) return name;
  // Removes a lone surrogate at the end.
  return `${name
    .slice(0, maxNameLength)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`;
}
