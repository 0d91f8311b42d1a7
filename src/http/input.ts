import { LRUCache } from 'lru-cache';
import type { ErrorDetail } from '../contract/errors.ts';
import type { Operation } from '../contract/operations.ts';
import { validate } from '../contract/validation.ts';
import { Refusal } from '../domain/refusal.ts';
import { readJsonBody } from './body.ts';
import { queryOf, readQuery } from './query.ts';

/** What an operation is called with, checked against its schemas. */
export interface Input {
  readonly query: unknown;
  readonly body: unknown;
}

const noBody = { value: undefined };

/** Reads and checks requests; remembers valid queries, for clients ask the same few again and again. */
export class InputReader {
  readonly #queries = new LRUCache<string, Input>({ max: 1_000 });

  /** Refuses what the body refuses, and `invalid_parameter` or `invalid_body` with all mistakes at once. */
  async read(operation: Operation, request: Request): Promise<Input> {
    const text = queryOf(request.url);
    if (operation.body !== undefined) return this.#readWithBody(operation, text, request);
    const key = `${operation.operationId}?${text}`;
    const known = this.#queries.get(key);
    if (known !== undefined) return known;
    const query = readQuery(operation, text);
    if ('mistakes' in query) throw refusalFor(query.mistakes);
    const input = { query: query.value, body: undefined };
    if (text.length <= 256) this.#queries.set(key, input);
    return input;
  }

  async #readWithBody(operation: Operation, text: string, request: Request): Promise<Input> {
    const json = await readJsonBody(request);
    const query = readQuery(operation, text);
    const body = operation.body ? validate(operation.body, json, 'body') : noBody;
    if ('mistakes' in query || 'mistakes' in body) {
      const inQuery = 'mistakes' in query ? query.mistakes : [];
      throw refusalFor([...inQuery, ...('mistakes' in body ? body.mistakes : [])]);
    }
    return { query: query.value, body: body.value };
  }
}

function refusalFor(details: ErrorDetail[]): Refusal {
  const code = details[0]?.in === 'query' ? 'invalid_parameter' : 'invalid_body';
  const first = details
    .map(({ in: place, name, message }) => `${name || `the ${place}`} ${message}`)
    .join('; ');
  const subject = code === 'invalid_parameter' ? 'The request is invalid' : 'The request body is invalid';
  return new Refusal(code, { details, message: `${subject}: ${first}.` });
}
