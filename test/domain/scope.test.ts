import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { allOperations } from '../../src/contract/operations.ts';
import { defaultScopes, formatScopes, parseScopes, scopes } from '../../src/domain/scope.ts';
import { always } from '../support/property.ts';

const anyScopes = fc.array(fc.constantFrom(...scopes), { maxLength: 12 });

describe('scopes in text form', () => {
  test('survive a round trip, without duplicates and in a fixed order', () => {
    always(anyScopes, (given) => {
      const text = formatScopes(given);
      expect(parseScopes(text)).toEqual(scopes.filter((scope) => given.includes(scope)));
      expect(formatScopes(parseScopes(text))).toBe(text);
      expect(formatScopes(given.toReversed())).toBe(text);
    });
  });

  test('are a list of printable words separated by single spaces (RFC 6749)', () => {
    expect(formatScopes(scopes)).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/);
    expect(formatScopes([])).toBe('');
    expect(parseScopes('')).toEqual([]);
  });

  test('are ignored if a later version introduced them', () => {
    expect(parseScopes('stock:read pets:read stock:write')).toEqual(['pets:read']);
  });

  test('grant no access if they are misspelled', () => {
    const near = [
      'pets',
      'pets:',
      'pets:rea',
      'pets:reads',
      'PETS:READ',
      'pets:read,orders:read',
      '*',
      'all',
    ];
    for (const word of near) expect(parseScopes(word)).toEqual([]);
  });

  test('are recognized only as whole words', () => {
    always(
      fc.oneof(fc.string(), fc.array(fc.constantFrom(...scopes, 'all', '', '*')).map(String)),
      (text) => {
        for (const scope of parseScopes(text)) expect(text.split(' ')).toContain(scope);
      },
    );
  });
});

describe('the scopes of the operations', () => {
  test('include the default scopes, which allow every stable operation, and no write except createPet', () => {
    const allowed = allOperations.filter(
      ({ scope, method }) => scope && method !== 'GET' && defaultScopes.includes(scope),
    );
    expect(allowed.map(({ operationId }) => operationId)).toEqual(['createPet']);
    const stable = allOperations.filter(({ stability }) => stability === 'stable');
    expect(stable.map(({ scope }) => scope)).toSatisfy((those) =>
      those.every((scope) => scope && defaultScopes.includes(scope)),
    );
    expect([...defaultScopes]).toEqual(['pets:read', 'pets:create']);
  });

  test('are defined for every operation except getRateLimit', () => {
    expect(
      allOperations.filter(({ scope }) => scope === undefined).map(({ operationId }) => operationId),
    ).toEqual(['getRateLimit']);
  });

  test('differ for reads and writes, except for webhooks', () => {
    for (const { method, scope } of allOperations) {
      if (scope !== undefined && scope !== 'webhooks:write')
        expect(scope.endsWith(':read')).toBe(method === 'GET');
    }
  });
});
