/** One mistake in a request that is otherwise right: it is refused before the store is looked at. */
import type { Operation } from '../../../src/contract/operation.ts';
import type { Chance } from '../generate/chance.ts';
import type { Request } from './request.ts';
import type { Outcome } from './world.ts';

type Mistake = (request: Request) => Request;

/** Whitespace enough to pass the bound of a body. */
const tooMuch = ' '.repeat(16_384);

const acceptPatch = { 'accept-patch': 'application/merge-patch+json, application/json' };

export function mistaken(chance: Chance, request: Request, operation: Operation): Request {
  return chance.pick([
    ...anywhere(),
    ...inPath(operation),
    ...(operation.paginated ? inPage : []),
    ...(operation.preconditions ? [withHeader('If-Match', 'unquoted')] : []),
    ...(operation.method === 'POST' ? [withHeader('Idempotency-Key', 'two words')] : []),
    ...(operation.body ? inBody(operation) : []),
  ])(request);
}

function anywhere(): Mistake[] {
  return [
    (request) => ({
      ...request,
      target: `${request.target}${request.target.includes('?') ? '&' : '?'}stauts=sold`,
      refused: blaming('invalid_parameter', 'query:stauts'),
    }),
  ];
}

const inPage: readonly Mistake[] = [
  (request) => ({
    ...request,
    target: `${pathOf(request)}?limit=101`,
    refused: blaming('invalid_parameter', 'query:limit'),
  }),
  (request) => ({
    ...request,
    target: `${pathOf(request)}?cursor=none`,
    refused: blaming('invalid_cursor', 'query:cursor'),
  }),
];

function inPath({ path }: Operation): Mistake[] {
  const [, name] = /\{(\w+)Id\}/.exec(path) ?? [];
  if (name === undefined) return [];
  const refused: Outcome = { status: 404, error: { code: `${name}_not_found` } };
  return [(request) => ({ ...request, target: request.target.replace(/\/-?\d+/, '/1x'), refused })];
}

function inBody({ method, body }: Operation): Mistake[] {
  const headers = method === 'PATCH' ? acceptPatch : {};
  const unsupported = { code: 'unsupported_media_type', blames: ['header:Content-Type'], headers };
  const mistakes: Mistake[] = [
    (request) => ({
      ...request,
      body: '{"name":',
      refused: { status: 400, error: { code: 'invalid_json' } },
    }),
    (request) => ({ ...request, body: '[]', refused: blaming('invalid_body', 'body:') }),
    (request) => ({
      ...request,
      body: (request.body ?? '{}').replace(/^\{/, '{"colour":7,').replace(',}', '}'),
      refused: blaming('invalid_body', 'body:colour'),
    }),
    (request) => ({
      ...request,
      body: (request.body ?? '{}') + tooMuch,
      refused: { status: 413, error: { code: 'body_too_large' } },
    }),
    (request) => ({
      ...request,
      body: request.body ?? '{}',
      type: 'text/plain',
      refused: { status: 415, error: unsupported },
    }),
  ];
  if (body?.optional) return mistakes;
  const without: Mistake = ({ body: _body, ...request }) => ({
    ...request,
    refused: { status: 400, error: { code: 'invalid_body' } },
  });
  return [...mistakes, without];
}

function withHeader(name: string, value: string): Mistake {
  return ({ ifMatch: _ifMatch, idempotencyKey: _key, ...request }) => ({
    ...request,
    wrongHeaders: { [name]: value },
    refused: blaming('invalid_parameter', `header:${name}`),
  });
}

function blaming(code: string, part: string): Outcome {
  return { status: 400, error: { code, blames: [part] } };
}

function pathOf({ target }: Request): string {
  return target.replace(/\?.*$/, '');
}
