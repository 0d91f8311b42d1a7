/** The work of reading a request is proportional to its size, whatever it contains. */
import { describe, expect, test } from 'bun:test';
import type * as z from 'zod';
import { adminOperations, allAdminOperations } from '../../src/contract/admin/operations.ts';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { validate } from '../../src/contract/validation.ts';
import { type Network, parseNetwork } from '../../src/domain/address.ts';
import { eventSelectors } from '../../src/domain/event-type.ts';
import { scopes } from '../../src/domain/scope.ts';
import { Site } from '../../src/http/admin/site.ts';
import { isNotModified, readPreconditions } from '../../src/http/pipeline/conditions.ts';
import { maxElements } from '../../src/http/pipeline/header-lists.ts';
import { readIdempotencyKey } from '../../src/http/pipeline/idempotency.ts';
import { readInput } from '../../src/http/pipeline/input.ts';
import { maxParameters, maxQueryLength, readQuery } from '../../src/http/pipeline/query.ts';
import {
  acceptsGzip,
  chooseRequestId,
  clientAddress,
  parseTraceId,
  readCookie,
  readCredential,
} from '../../src/http/pipeline/request-head.ts';

/** Maximum size of a request head. */
const maxHeadBytes = 16_384;
/** Repeats the text to exactly `length` characters, by default the maximum size of a head. */
const filled = (text: string, length = maxHeadBytes) =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);
const loopback = parseNetwork('127.0.0.0/8') as Network;
const numbered = (form: (number: string) => string, count = 2_500, separator = '&') =>
  Array.from({ length: count }, (_, index) => form(index.toString(36))).join(separator);

const queries: readonly string[] = [
  filled('type=pet.*&'),
  filled('type=x&'),
  filled('limit=1&'),
  filled('&'),
  filled('='),
  filled('%41'),
  filled('%'),
  filled('+'),
  numbered((name) => name),
  numbered((value) => `type=${value}`),
  `id=${filled('1,')}`,
  `id=${filled(',')}`,
  `limit=${filled('1')}`,
  `limit=x&cursor=${filled('A')}`,
  `cursor=${filled('A')}`,
  `since=${filled('2')}`,
];

const headerNames = [
  'if-match',
  'if-none-match',
  'idempotency-key',
  'last-event-id',
  'content-type',
  'content-encoding',
] as const;
const headerValues = [
  '"a",',
  'W/"a" ,',
  '"',
  ',',
  '" ',
  '"a-gzip",',
  '\\"',
  ', \t',
  ';\t',
  'charset=',
  '1',
  'a',
].map((text) => `"${filled(text)}x`);

const bodies: readonly string[] = [
  `{"name":"a","categoryId":1${'0'.repeat(15_000)}e-15000}`,
  `{"name":"a","categoryId":0.${'0'.repeat(15_000)}1e15001}`,
  `{"name":"a","categoryId":${filled('1', 16_000)}}`,
  `{"name":"a","categoryId":${filled('10', 16_000)}e-1}`,
  `{"name":"a","categoryId":[${'1e18,'.repeat(3_200)}1]}`,
  `{"name":"a","categoryId":[${'1e400,'.repeat(2_600)}1]}`,
  `{${'"a":1,'.repeat(2_600)}"a":1}`,
  `{${'"\\u0061":1,'.repeat(1_400)}"a":1}`,
  `{"name":"${filled('\\u0041', 16_200)}"}`,
  `{"name":"${filled('\\\\', 16_200)}"}`,
  `{"name":"${filled('\u{1f436}', 8_000)}"}`,
  `{"url":"https://${filled('a.', 16_200)}"}`,
  `${filled(' ', 8_000)}{"name":"a"${filled(' ', 8_000)}x}`,
  `{${'"a":"b" ,'.repeat(1_700)}"a" "b"}`,
  `[${filled('{},', 16_380)}{}]`,
  `[${filled('1,', 16_380)}1]`,
  `[${filled('1e0,', 16_380)}1]`,
  `[${filled('0.1,', 16_380)}1]`,
  `[${filled('"",', 16_380)}""]`,
  `[${filled(`${'['.repeat(30)}${']'.repeat(30)},`, 16_348)}1]`,
  `{${numbered((name) => `"${name}":1e0`, 1_600, ',')}}`,
  `{${numbered((name) => `"${name}":1,"${name}":1`, 900, ',')}}`,
  filled('[', 8_000) + filled(']', 8_000),
  filled('"'),
  filled('\\"'),
].map((body) => body.slice(0, maxBodyBytes));

/** Bodies in which each member of a request is a list of thousands of items. */
function longLists({ body }: Operation): string[] {
  const items = ['1,', 'null,', '"",', '{},', '"pet.*",', '"pets:read",'];
  return Object.keys(body?.schema.shape ?? {}).flatMap((name) =>
    items.map((item) => `{"${name}":[${item.repeat(Math.floor(16_000 / item.length))}${item.slice(0, -1)}]}`),
  );
}

/** Maximum ratio of the time that a request takes to the time of the reference work. Today, it is at most two. */
const maxBodyRatio = 4;
/** The same for one header, most of which are read before the key and the limits are checked. Today, it is at most 0.06. */
const maxHeaderRatio = 0.15;

/** Work of the runtime that is proportional to the size of a request: it visits every value of the largest body. */
function reference(): unknown {
  return JSON.parse(`[${'1,'.repeat(8_000)}1]`, (_, value) => value);
}

async function timeOf(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function bestOf(runs: number, work: () => unknown): Promise<number> {
  let ms = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count++) ms = Math.min(ms, await timeOf(work));
  return ms;
}

// Compiles the reference work before the first measurement.
await bestOf(20, reference);

/**
 * Number of comparisons before a request is found to be expensive, because other processes delay some of them, and the
 * compilation of the code.
 */
const maxComparisons = 500;

/** Returns the inputs that take too long to process, compared with the reference work. */
async function expensive<Of>(
  inputs: readonly Of[],
  work: (input: Of) => unknown,
  maxRatio = maxBodyRatio,
): Promise<string[]> {
  const found: string[] = [];
  let referenceMs = await bestOf(5, reference);
  for (const input of inputs) {
    let ms = await timeOf(() => work(input));
    for (let count = 0; count < maxComparisons && ms > maxRatio * referenceMs; count++) {
      referenceMs = Math.min(referenceMs, await timeOf(reference));
      ms = Math.min(ms, await timeOf(() => work(input)));
    }
    if (ms > maxRatio * referenceMs) found.push(JSON.stringify(input).slice(0, 60));
  }
  return found;
}

/** Reads a request of the operation. Most of these requests are rejected. */
async function read(operation: Operation, { query = '', headers = {}, body }: Sent): Promise<void> {
  const request = new Request(`http://test/v1/x?${query}`, {
    method: operation.method,
    headers: { 'content-type': operation.body?.types?.[0] ?? 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
  try {
    await readInput(operation, request, { petId: '1' });
  } catch {}
}

interface Sent {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

describe.each([
  ...Object.values(operations),
  ...allAdminOperations.filter(({ body }) => body !== undefined),
] as Operation[])('reading a request of $operationId', (operation) => {
  test('takes time proportional to its size', async () => {
    const sent: Sent[] = [
      ...queries.map((query) => ({ query })),
      ...headerNames.flatMap((name) => headerValues.map((value) => ({ headers: { [name]: value } }))),
      ...(operation.body === undefined ? [] : [...bodies, ...longLists(operation)]).map((body) => ({ body })),
    ];
    expect(await expensive(sent, (one) => read(operation, one))).toEqual([]);
  });
});

const etag = '"abcdefgh"';
const trustedProxies = [loopback];
const site = new Site(undefined);

const readers: Readonly<Record<string, (request: Request, value: string) => unknown>> = {
  authorization: ({ headers }) => readCredential(headers),
  'x-request-id': (request) => chooseRequestId(request, () => ''),
  traceparent: (_, value) => parseTraceId(`01-${'a'.repeat(32)}-${'b'.repeat(16)}-00-${value}`),
  'x-forwarded-for': (_, value) => clientAddress('127.0.0.1', value, trustedProxies),
  'accept-encoding': (request) => acceptsGzip(request),
  'if-none-match': ({ headers }) => isNotModified(headers, etag),
  'idempotency-key': ({ headers }) => readIdempotencyKey(operations.placeOrder, headers),
  cookie: (request) => readCookie(request, 'a'),
  host: (request) => site.checkHost(request),
};

describe.each(Object.entries(readers))('reading the header %s', (name, readHeader) => {
  test('takes little time, whatever it contains', async () => {
    const parts = [
      'ask_',
      'Bearer ',
      ' ',
      '127.0.0.1,',
      'gzip;q=0,',
      '0',
      ';',
      'a=1;',
      ',',
      ':',
      '1:',
      '[',
      '"",',
    ];
    const values = [
      ...headerValues,
      `"${'\\\\'.repeat(8_000)}"`,
      ...[...parts, `${etag},`].map((text) => filled(text)),
    ];
    const found = await expensive(
      values,
      (value) => {
        try {
          readHeader(new Request('http://test/', { headers: { [name]: value } }), value);
        } catch {}
      },
      maxHeaderRatio,
    );
    expect(found).toEqual([]);
  });
});

describe('a list in a header', () => {
  const listOf = (count: number, element: string) => Array.from({ length: count }, () => element);

  test('of codings is read from its beginning, up to a limit', () => {
    const accepts = (codings: readonly string[]) =>
      acceptsGzip(new Request('http://test/', { headers: { 'Accept-Encoding': codings.join() } }));
    expect(accepts([...listOf(maxElements - 1, ''), 'gzip'])).toBe(true);
    expect(accepts([...listOf(maxElements, ''), 'gzip'])).toBe(false);
  });

  test('of forwarded addresses is read from its end, up to a limit', () => {
    const client = (hops: readonly string[]) => clientAddress('127.0.0.1', hops.join(), trustedProxies);
    const proxies = (count: number) => listOf(count, '127.0.0.2');
    expect(client([...listOf(10_000, ''), '192.0.2.1', ...proxies(maxElements - 1)])).toBe('192.0.2.1');
    expect(client(['192.0.2.1', ...proxies(maxElements)])).toBe('127.0.0.2');
  });

  test('of entity tags is read from its beginning, up to a limit, beyond which no tag matches', () => {
    const others = (count: number) => listOf(count, '"x"');
    const isCurrent = (tags: readonly string[]) =>
      isNotModified(new Headers({ 'If-None-Match': tags.join() }), etag);
    expect(isCurrent([...others(maxElements - 1), etag])).toBe(true);
    expect(isCurrent([...others(maxElements), etag])).toBe(false);
    const headers = new Headers({ 'If-Match': [...others(maxElements), etag].join() });
    expect(readPreconditions(operations.approveOrder, headers)).toEqual({
      value: { ifMatch: others(maxElements) },
    });
  });

  test('of cookies contains the last 200 cookies, which is more than browsers send', () => {
    const cookie = (pairs: readonly string[]) =>
      readCookie(new Request('http://test/', { headers: { Cookie: pairs.join('; ') } }), 'a');
    expect(cookie(['a=first', 'a=last=', ...listOf(198, 'b=a=1')])).toBe('last=');
    expect(cookie(['a=1', ...listOf(200, 'b=1')])).toBeUndefined();
    expect(cookie(['aa=1'])).toBeUndefined();
  });
});

describe('a list in a body', () => {
  const typesForm = `must be an array of 1 to ${eventSelectors.length} types`;
  const wrong = (length: number) => Array.from({ length }, () => 'wrong');

  test.each([
    [operations.createWebhook, 'types', eventSelectors.length, typesForm],
    [operations.updateWebhook, 'types', eventSelectors.length, typesForm],
    [adminOperations.createKey, 'scopes', scopes.length, 'must not repeat a scope'],
    [adminOperations.updateKey, 'scopes', scopes.length, 'must not repeat a scope'],
  ] as const)('of $operationId has one mistake if it has too many items', (operation, name, max, message) => {
    const mistakesIn = (items: readonly string[]) => {
      const checked = validate(operation.body.schema as z.ZodType, { [name]: items }, 'body');
      return 'mistakes' in checked ? checked.mistakes.filter((mistake) => mistake.name.startsWith(name)) : [];
    };
    expect(mistakesIn(wrong(max)).map((mistake) => mistake.name)).toEqual(
      wrong(max).map((_, index) => `${name}.${index}`),
    );
    expect(mistakesIn(wrong(max + 1))).toEqual([{ in: 'body', name, message }]);
  });
});

describe('a query', () => {
  const readEvents = (query: string) => readQuery(operations.listEvents, query);

  test('may contain as many values of a list parameter as there are allowed values, and no more', () => {
    const all = eventSelectors.map((selector) => `type=${selector}`).join('&');
    const [first, ...others] = eventSelectors;
    for (const query of [all, `type=${eventSelectors.join()}`, `type=${first}&type=${others.join()}`])
      expect(readEvents(query)).toMatchObject({ value: { type: eventSelectors } });
    expect(readEvents(`${all}&type=pet.*`)).toEqual({
      mistakes: [{ in: 'query', name: 'type', message: `must have at most ${eventSelectors.length} types` }],
    });
  });

  test('is read only up to its 128th parameter', () => {
    const unknown = (count: number) => Array.from({ length: count }, (_, index) => `x${index}=1`).join('&');
    const namesIn = (query: string) => {
      const checked = readEvents(query);
      return 'mistakes' in checked ? checked.mistakes.map(({ name }) => name) : [];
    };
    expect(namesIn(unknown(maxParameters))).toHaveLength(maxParameters);
    expect(namesIn(`${unknown(maxParameters)}&&`)).toHaveLength(maxParameters);
    const tooMany = readEvents(unknown(2_500));
    expect('mistakes' in tooMany && tooMany.mistakes[0]).toEqual({
      in: 'query',
      name: '',
      message: 'must have at most 128 parameters',
    });
    expect(namesIn(unknown(2_500))).toHaveLength(1 + maxParameters);
  });

  test('is not read if bytes that are not ASCII make it longer than any valid query', () => {
    const tooLong = '%EF%BF%BD'.repeat(maxHeadBytes);
    expect(readEvents(tooLong)).toEqual({
      mistakes: [{ in: 'query', name: '', message: `must have at most ${maxQueryLength} characters` }],
    });
    expect(readEvents(tooLong.slice(0, maxQueryLength))).toMatchObject({
      mistakes: [{ message: expect.stringContaining('unknown') }],
    });
  });

  test('may contain any number of empty parameters', () => {
    expect(readEvents(`${filled('&')}limit=1`)).toMatchObject({ value: { limit: 1 } });
  });
});
