/**
 * Requests with exactly one error, derived from the operation's definition. They are rejected before the store is read.
 */
import type * as z from 'zod';
import type { Operation } from '../../../src/contract/operation.ts';
import { isRepeatable } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import { bodyMistakes } from './body-mistakes.ts';
import { type Request, rowOf } from './request.ts';
import { isListParameter } from './schemas.ts';
import { blaming, type Outcome } from './world.ts';
import { wrongHeaders, wrongIds, wrongNames, wrongParameter } from './wrong-values.ts';

export interface Mistake {
  readonly what: string;
  /** Adds the error to the request, and sets the expected error response. */
  readonly make: (request: Request, chance: Chance) => Request;
}

export function mistakesOf(operation: Operation): Mistake[] {
  const { query, params = {}, preconditions = [] } = operation;
  const shape: Readonly<Record<string, unknown>> = query?.shape ?? {};
  const parameters = Object.keys(shape);
  const single = parameters.filter((name) => !isListParameter(shape[name] as z.ZodType));
  const headers = [...preconditions, ...(isRepeatable(operation) ? ['Idempotency-Key'] : [])];
  return [
    unknownParameter,
    ...parameters.map((name) => parameterWrong(name, shape[name] as z.ZodType)),
    ...(single.length === 0 ? [] : [twice(single)]),
    ...Object.entries(params).map(([name, { otherwise }]) => wrongId(name, otherwise)),
    ...headers.map(wrongHeader),
    ...bodyMistakes(operation),
  ];
}

function ofQuery(what: string, make: (chance: Chance) => { query: string; refused: Outcome }): Mistake {
  return {
    what,
    make: (request, chance) => {
      const { query, refused } = make(chance);
      return { ...request, target: `${request.target.replace(/\?.*$/, '')}?${query}`, refused };
    },
  };
}

const unknownParameter = ofQuery('parameter unknown', (chance) => {
  const name = chance.pick(wrongNames);
  const query = `${name}=${chance.pick(['', '1', 'sold'])}`;
  return { query, refused: blaming('invalid_parameter', `query:${decodeURIComponent(name)}`) };
});

function parameterWrong(name: string, schema: z.ZodType): Mistake {
  const code = name === 'cursor' ? 'invalid_cursor' : 'invalid_parameter';
  const wrong = wrongParameter(name, schema);
  return ofQuery(`parameter ${name} wrong`, (chance) => ({
    query: `${name}=${wrong(chance)}`,
    refused: blaming(code, `query:${name}`),
  }));
}

const twice = (names: readonly string[]) =>
  ofQuery('parameter twice', (chance) => {
    const name = chance.pick(names);
    const again = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    const query = `${name}=5&${chance.pick([name, again])}=${chance.pick(['5', '6', ''])}`;
    return { query, refused: blaming('invalid_parameter', `query:${name}`) };
  });

function wrongId(name: string, otherwise: string | undefined): Mistake {
  const refused: Outcome =
    otherwise === undefined
      ? blaming('invalid_parameter', `path:${name}`)
      : { status: 404, error: { code: otherwise } };
  return {
    what: `${name} no int64`,
    make: (request, chance) => {
      const at = rowOf(request).path.split('/').indexOf(`{${name}}`);
      const parts = request.target.split('/');
      const wrong = parts[at]?.replace(/^-?\d+/, `${chance.pick(wrongIds)}`) ?? '';
      return { ...request, target: parts.with(at, wrong).join('/'), refused };
    },
  };
}

function wrongHeader(name: string): Mistake {
  return {
    what: `${name} malformed`,
    make: ({ ifMatch: _ifMatch, isNew: _isNew, idempotencyKey: _key, ...request }, chance) => ({
      ...request,
      wrongHeaders: { [name]: chance.pick(wrongHeaders[name] ?? []) },
      refused: blaming('invalid_parameter', `header:${name}`),
    }),
  };
}
