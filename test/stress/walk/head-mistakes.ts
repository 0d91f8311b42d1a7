/**
 * Requests with a wrong credential, path or method. Requests with a wrong credential do not count against the account.
 */

import type { Operation } from '../../../src/contract/operation.ts';
import { allOperations, allowedMethods } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import { words } from '../words.ts';
import type { Mistake } from './mistakes.ts';
import type { Outcome } from './world.ts';

const wrongPaths = [
  ...[...words`/ /pet /Pets /pets/ /pets/1/ /pets/1/2 //pets /pets//1 /pets%2F1 /%70ets`, ''],
  ...['/v1/pets', '/order', '/orders/1/refuse', '/categories/', '/inventory/1', '/pets.json', '/pets;a=1'],
  ...['/../v1/pets', '/pets/../pets/1', '/./pets'],
];
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];

export function headMistakes(operation: Operation): Mistake[] {
  const allowed = allOperations.filter(({ path }) => path === operation.path).flatMap(allowedMethods);
  const allow = [...allowed].sort().join(', ');
  return [
    credentials('missing', 'missing_api_key', (_, chance) => chance.pick([[], [], [''] as const])),
    credentials('wrong', 'invalid_api_key', (key, chance) => [broken(key, chance)]),
    credentials('twice', 'invalid_api_key', (key) => [`Bearer ${key}`, `Bearer ${key}`]),
    ...(operation.scope === undefined ? [] : [withoutScope]),
    {
      what: 'path unknown',
      make: (request, chance) => ({
        ...request,
        target: chance.pick(wrongPaths),
        refused: { status: 404, error: { code: 'route_not_found' } },
      }),
    },
    {
      what: 'method not allowed',
      make: (request, chance) => ({
        ...request,
        method: chance.pick(methods.filter((method) => !allowed.includes(method))),
        refused: { status: 405, error: { code: 'method_not_allowed', headers: { allow } } },
      }),
    },
  ];
}

/** The model provides the expected error. */
const withoutScope: Mistake = { what: 'scope missing', make: (request) => ({ ...request, isLimited: true }) };

function credentials(
  what: string,
  code: string,
  make: (key: string, chance: Chance) => readonly string[],
): Mistake {
  const error = code === 'missing_api_key' ? '' : ', error="invalid_token"';
  const headers = { 'www-authenticate': `Bearer realm="animal-store"${error}` };
  const refused: Outcome = { status: 401, error: { code, headers } };
  return {
    what: `credential ${what}`,
    make: (request) => ({ ...request, credentials: make, refused }),
  };
}

function broken(key: string, chance: Chance): string {
  const at = chance.int(4, key.length - 1);
  const other = chance.pick([...'0Az9'].filter((character) => character !== key[at]));
  const typo = key.slice(0, at) + other + key.slice(at + 1);
  return chance.pick([
    ...[typo, `${key}x`, key.slice(0, -1), `${key} ${key}`, `"${key}"`, `${key},`, key.toUpperCase()].map(
      (credential) => `Bearer ${credential}`,
    ),
    ...[
      `Basic ${key}`,
      key,
      'Bearer',
      `Bearer:${key}`,
      `Token ${key}`,
      `Bearer\t${key}`,
      `BearerBearer ${key}`,
    ],
    `Bearer ${'a'.repeat(3_000)}`,
  ]);
}
