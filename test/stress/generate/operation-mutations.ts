/** Mistakes that any operation can meet, as far as its row in the contract says so. */
import { allOperations, isRepeatable, methodsOf, type Operation } from '../../../src/contract/operations.ts';
import type { Chance } from './chance.ts';
import type { HttpRequest } from './http.ts';
import { type Mutation, refused } from './mutation.ts';
import { type Particulars, requestOf } from './request-of.ts';
import type { Known } from './requests.ts';

type Row = (typeof allOperations)[number];

/** One of the operations that this mistake is possible with. */
function anyOf(fits: (row: Row) => boolean) {
  const rows = allOperations.filter(fits);
  return (chance: Chance) => chance.pick(rows);
}

export const anyRequest = (chance: Chance, known: Known): HttpRequest =>
  requestOf(chance.pick(allOperations).operationId, chance, known);

const withHeader = (row: Row, chance: Chance, known: Known, name: string, values: readonly string[]) =>
  requestOf(row.operationId, chance, known, { headers: [[name, chance.pick(values)]] });

const noIds = [
  '9223372036854775808',
  '-9223372036854775809',
  '01',
  '+1',
  '1.0',
  '1e0',
  'x',
  '%20',
  '%00',
  '-0',
  '1%20',
  '%EF%BC%91',
  '..%2F1',
  '0x1',
  "1'--",
  '1;1',
];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'];
const brokenTags = ['abc', '"a', '"a" "b"', '"a",b', "'a'", 'W/a', '*,"a"', '"a b"'];
const brokenKeys = ['""', '"', '"a', '"a"b', 'a b', 'é', 'x'.repeat(256), `"${'x'.repeat(256)}"`, '"a\\b"'];
const noInt64 = ['', 'x', '1.5', '01', '%2B1', '9223372036854775808', '1%20', '0x1', '1,2'];
const noList = ['', ',', '1,', ',1', '1,,2', 'x', '1;2', '1%20,2', '1,9223372036854775808', many(101)];

function many(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(',');
}

const withScope = anyOf(({ scope }) => scope !== undefined);
const withParams = anyOf(({ params }) => params !== undefined);
const repeatable = anyOf(isRepeatable);
const conditional = anyOf(({ preconditions }) => preconditions?.includes('If-Match') === true);
const creating = anyOf(({ preconditions }) => preconditions?.includes('If-None-Match') === true);
const withoutQuery = anyOf(({ query }) => query === undefined);
const withCursor = anyOf(({ paginated }) => paginated === true);

/** One parameter of the query wrong, of any operation that has it. */
function parameter(name: string, values: readonly string[]): Mutation {
  const having = anyOf(({ query }) => name in (query?.shape ?? {}));
  return (chance, known) =>
    query(having(chance), chance, known, [[name, chance.pick(values)]], 'invalid_parameter', name);
}

function query(
  { operationId }: Row,
  chance: Chance,
  known: Known,
  parameters: Particulars['query'] & {},
  code: string,
  faulty?: string,
): ReturnType<Mutation> {
  const request = requestOf(operationId, chance, known, { query: parameters });
  return { ...request, ...refused(400, code, faulty && `query:${faulty}`) };
}

export const operationMutations: Readonly<Record<string, Mutation>> = {
  'scope missing': (chance, known) => {
    const { operationId } = withScope(chance);
    const request = requestOf(operationId, chance, { ...known, key: known.poorKey });
    return { ...request, ...refused(403, 'insufficient_scope') };
  },
  'method that the path does not have': (chance, known) => {
    const row = chance.pick(allOperations);
    const there = allOperations.filter(({ path }) => path === row.path).flatMap(methodsOf);
    const method = chance.pick(methods.filter((one) => !there.includes(one)));
    // The runtime closes the connection at a GET or TRACE whose body is chunked, whatever it asks for.
    const { chunks: _, ...request } = requestOf(row.operationId, chance, known);
    return { ...request, method, ...refused(405, 'method_not_allowed') };
  },
  'id no int64': (chance, known) => {
    const { operationId, path, params = {} } = withParams(chance);
    const [name, { otherwise }] = Object.entries(params)[0] as Entry<NonNullable<Operation['params']>>;
    const target = path.replace(`{${name}}`, chance.pick(noIds));
    const refusal =
      otherwise === undefined ? refused(400, 'invalid_parameter', `path:${name}`) : refused(404, otherwise);
    return { ...requestOf(operationId, chance, known), target, ...refusal };
  },
  'If-Match malformed': (chance, known) => ({
    ...withHeader(conditional(chance), chance, known, 'If-Match', brokenTags),
    ...refused(400, 'invalid_parameter', 'header:If-Match'),
  }),
  'If-None-Match on a PUT that is not *': (chance, known) => ({
    ...withHeader(creating(chance), chance, known, 'If-None-Match', ['"a"', 'a', '""', '*, *']),
    ...refused(400, 'invalid_parameter', 'header:If-None-Match'),
  }),
  'Idempotency-Key malformed': (chance, known) => ({
    ...withHeader(repeatable(chance), chance, known, 'Idempotency-Key', brokenKeys),
    ...refused(400, 'invalid_parameter', 'header:Idempotency-Key'),
  }),
  'query where there is none': (chance, known) => {
    const name = chance.pick(['limit', 'status', 'expand', 'a']);
    return query(withoutQuery(chance), chance, known, [[name, '1']], 'invalid_parameter', name);
  },
  'cursor malformed, any list': (chance, known) =>
    query(
      withCursor(chance),
      chance,
      known,
      [['cursor', chance.pick(['', '=', 'null', 'x'.repeat(65)])]],
      'invalid_cursor',
    ),
  'limit wrong, any list': parameter('limit', ['0', '101', '-1', '1.5', '', '01', 'ten', '%2B1']),
  'status wrong, any list': parameter('status', ['', 'Placed', 'SOLD', 'gone', 'sold%20', '1', 'null']),
  'categoryId wrong': parameter('categoryId', noInt64),
  'petId wrong': parameter('petId', noInt64),
  'ids wrong': parameter('id', noList),
};

type Entry<Of extends object> = [string, Of[keyof Of]];
