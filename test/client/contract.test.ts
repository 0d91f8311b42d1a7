/** Consistency of the client with contract/openapi.json. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createError } from '../../client/src/create-error.ts';
import { AnimalStore, type AnimalStoreError, type ErrorCode } from '../../client/src/index.ts';
import { List } from '../../client/src/list.ts';
import { generateClientTypes } from '../../scripts/client-types.ts';
import { clientErrors } from '../../src/contract/errors.ts';
import { startAppForFile } from '../support/app.ts';
import { root } from '../support/process.ts';

const openapi = await Bun.file(join(root, 'contract/openapi.json')).text();
const app = await startAppForFile();

test('the committed types equal the output of npm run contract', async () => {
  expect(await Bun.file(join(root, 'client/src/contract.ts')).text()).toBe(generateClientTypes(openapi));
});

test('every operation has a method that sends all of its parameters and headers', async () => {
  const sent = new Map<string, Set<string>>();
  const store = new AnimalStore({
    key: app.key,
    url: app.url,
    fetch: (address, init) => {
      const { pathname, searchParams } = new URL(address);
      const operation = `${init.method} ${pathname.replace(/^\/v1/, '').replace(/\d+/g, '{id}')}`;
      const names = [...searchParams.keys(), ...new Headers(init.headers).keys()].map((name) =>
        name.toLowerCase(),
      );
      // Skips calls in which the options were interpreted as an id.
      if (!operation.includes('[object'))
        sent.set(operation, new Set([...(sent.get(operation) ?? []), ...names]));
      return fetch(address, init);
    },
  });
  const calls = Object.values(store).flatMap((resource) => methodsOf(resource).map((method) => method()));
  await Promise.allSettled(calls);
  expect([...sent.keys()].sort()).toEqual(
    operations()
      .map(({ name }) => name)
      .sort(),
  );
  for (const { name, parameters } of operations()) {
    expect([name, ...parameters.filter((each) => !sent.get(name)?.has(each))]).toEqual([name]);
  }
});

/** Every option, filter and body member. A method ignores any that it does not accept. */
const everything = Object.fromEntries([
  ...['ifMatch', 'ifNoneMatch'].map((name) => [name, '*']),
  ...operations().flatMap(({ queried }) => queried.map((name) => [name, '1'])),
  ['id', undefined],
  ['ids', [1n]],
]);

/** Calls to the methods of a resource, with every combination of arguments. */
function methodsOf(resource: object): (() => Promise<unknown>)[] {
  const prototype = Object.getPrototypeOf(resource) as Record<string, (...values: unknown[]) => unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    if (name === 'constructor') return [];
    // Options are the last argument, after ids, a body, both or neither.
    return [[], [1n], [1n, {}], [1n, 1n], [1n, 1n, {}]].map((before) => async () => {
      const result = prototype[name]?.call(resource, ...before, everything, everything);
      return result instanceof List ? result.toArray() : result;
    });
  });
}

/** The operations of the contract, each with the names of its parameters. */
function operations(): {
  readonly name: string;
  readonly parameters: string[];
  readonly queried: string[];
}[] {
  const { paths, components } = JSON.parse(openapi);
  return Object.entries<Record<string, { parameters: { $ref?: string; in: string; name: string }[] }>>(
    paths,
  ).flatMap(([path, methods]) =>
    // Omits the event stream, because `follow` reads the feed instead.
    Object.entries(path === '/events/stream' ? {} : methods).map(([method, { parameters }]) => ({
      name: `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{id}')}`,
      queried: parameters.filter((each) => each.in === 'query').map((each) => each.name),
      parameters: parameters
        .map((each) => (each.$ref ? components.parameters[each.$ref.split('/').at(-1) ?? ''] : each))
        // Ignores the request id, which the service assigns, and the headers of conditional reads.
        .filter((each) => each.in !== 'path' && each.name !== 'X-Request-Id')
        .filter((each) => !(method === 'get' && each.name === 'If-None-Match'))
        .map((each) => each.name.toLowerCase()),
    })),
  );
}

// Compiles only if every error code of the contract narrows the error to its class.
const classOf = (error: AnimalStoreError): string => {
  switch (error.code) {
    case 'api_key_banned':
    case 'rate_limit_exceeded':
    case 'daily_quota_exceeded':
    case 'too_many_failed_authentications':
    case 'too_many_streams':
    case 'service_unavailable':
      return `${error.name} ${error.retryAfterSeconds}`;
    case 'insufficient_scope':
      return `${error.name} ${error.scope}`;
    case 'operation_removed':
      return `${error.name} ${error.successor}`;
    case 'invalid_json':
    case 'invalid_body':
    case 'invalid_parameter':
    case 'invalid_cursor':
    case 'body_too_large':
    case 'unsupported_media_type':
    case 'idempotency_key_reused':
    case 'method_not_allowed':
      return `${error.name} ${error.details.length}`;
    case 'pet_not_found':
    case 'category_not_found':
    case 'order_not_found':
    case 'webhook_not_found':
    case 'delivery_not_found':
    case 'too_many_webhooks':
    case 'route_not_found':
    case 'status_transition_not_allowed':
    case 'pet_reserved':
    case 'pet_not_available':
    case 'order_transition_not_allowed':
    case 'idempotency_key_in_use':
    case 'webhook_disabled':
    case 'event_type_not_selected':
    case 'too_many_deliveries':
    case 'redelivery_in_progress':
    case 'missing_api_key':
    case 'invalid_api_key':
    case 'precondition_failed':
    case 'events_expired':
    case 'internal_error':
    case 'unexpected_response':
    case 'connection_failed':
    case 'timeout':
    case 'invalid_argument':
    case 'webhook_rejected':
      return error.name;
    default:
      return error satisfies never;
  }
};

// Compiles only if ErrorCode includes every code of the contract.
const codes = Object.keys(
  clientErrors,
) satisfies string[] as (keyof typeof clientErrors)[] satisfies ErrorCode[];

const classOfStatus: Readonly<Record<number, string>> = {
  400: 'InvalidRequestError 0',
  401: 'AuthenticationError',
  403: 'PermissionError pets:write',
  404: 'NotFoundError',
  405: 'InvalidRequestError 0',
  409: 'ConflictError',
  410: 'RemovedError /v1/pets',
  412: 'PreconditionError',
  413: 'InvalidRequestError 0',
  415: 'InvalidRequestError 0',
  422: 'InvalidRequestError 0',
  429: 'RateLimitError 7',
  500: 'ServerError',
  503: 'UnavailableError 7',
};

const classOfCode: Readonly<Record<string, string>> = {
  api_key_banned: 'BannedError 7',
  events_expired: 'EventsExpiredError',
};

test('every error code of the contract has a type, and maps to the error class of its status', () => {
  const headers = new Headers({
    'WWW-Authenticate': 'Bearer realm="animal-store", error="insufficient_scope", scope="pets:write"',
    Link: '</v1/pets>; rel="successor-version", </docs/guides/versioning>; rel="deprecation"; type="text/html"',
  });
  for (const code of codes) {
    const { status, message } = clientErrors[code];
    const error = createError({ code, status, message, headers, attempts: 1 }, [], 7);
    expect(error).toMatchObject({ code, status, message });
    expect([code, classOf(error)]).toEqual([code, classOfCode[code] ?? classOfStatus[status] ?? '']);
  }
});

test('an unknown error code maps to the error class of its status', () => {
  const names = [400, 401, 402, 404, 409, 418, 429, 451, 500, 502, 503, 504].map(
    (status) => createError({ code: 'new_in_2027', status, message: '', attempts: 1 }, [], 0).name,
  );
  expect(names).toEqual([
    'InvalidRequestError',
    'AuthenticationError',
    'InvalidRequestError',
    'NotFoundError',
    'ConflictError',
    'InvalidRequestError',
    'RateLimitError',
    'InvalidRequestError',
    'ServerError',
    'ServerError',
    'UnavailableError',
    'ServerError',
  ]);
});
