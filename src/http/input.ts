import type * as z from 'zod';
import { maxDetails } from '../contract/bounds.ts';
import type { ErrorDetail } from '../contract/errors.ts';
import type { Operation } from '../contract/operations.ts';
import { type Validated, validate } from '../contract/validation.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';
import { type JsonBody, readJsonBody } from './body.ts';
import { queryOf, readQuery } from './query.ts';

/** What an operation is called with: query and body as its schemas made them, the path parameter as it came. */
export interface Input {
  readonly petId: string;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Reads and checks a request. Refuses what the body's reading refuses, and `invalid_parameter` or `invalid_body`
 * with all mistakes at once.
 */
export function readInput(operation: Operation, request: Request, petId: string): Awaitable<Input> {
  const schema = operation.body;
  const read = schema && readJsonBody(request);
  return andThen(read, (json) => {
    const body = schema && json ? checkBody(schema, json) : { value: undefined };
    const query = readQuery(operation, queryOf(request.url));
    if ('value' in query && 'value' in body) return { petId, query: query.value, body: body.value };
    throw refusalOf([...mistakesOf(query), ...mistakesOf(body)]);
  });
}

function checkBody(schema: z.ZodType, { value, mistakes, ambiguous }: JsonBody): Validated<unknown> {
  const checked = validate(schema, value, 'body');
  if (mistakes.length === 0) return checked;
  const others = mistakesOf(checked).filter(({ name }) => !ambiguous.has(name));
  return { mistakes: [...mistakes, ...others] };
}

function mistakesOf(checked: object): ErrorDetail[] {
  return 'mistakes' in checked ? (checked.mistakes as ErrorDetail[]) : [];
}

/** The refusal that lists these mistakes, up to `maxDetails` of them. */
function refusalOf(all: ErrorDetail[]): Refusal {
  const details = all.slice(0, maxDetails);
  const inQuery = details[0]?.in === 'query';
  const unnamed = all.length - details.length;
  const more = unnamed === 0 ? [] : [`and ${unnamed} more ${unnamed === 1 ? 'mistake' : 'mistakes'}`];
  const mistakes = details
    .map(({ in: place, name, message }) => `${name || `the ${place}`} ${message}`)
    .concat(more)
    .join('; ');
  const message = `The ${inQuery ? 'request' : 'request body'} is invalid: ${mistakes}.`;
  return new Refusal(inQuery ? 'invalid_parameter' : 'invalid_body', { details, message });
}
