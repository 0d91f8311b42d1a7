import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { allOperations } from '../../src/contract/operations.ts';
import { defaultScopes, scopes, scopesOfText, scopesText } from '../../src/domain/scope.ts';
import { always } from '../support/property.ts';

const anyScopes = fc.array(fc.constantFrom(...scopes), { maxLength: 12 });

describe('scopes as text', () => {
  test('are read back as they were written, each once, in one order', () => {
    always(anyScopes, (given) => {
      const text = scopesText(given);
      expect(scopesOfText(text)).toEqual(scopes.filter((scope) => given.includes(scope)));
      expect(scopesText(scopesOfText(text))).toBe(text);
      expect(scopesText(given.toReversed())).toBe(text);
    });
  });

  test('are a list that RFC 6749 calls one: words of printable characters, one space between them', () => {
    expect(scopesText(scopes)).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/);
    expect(scopesText([])).toBe('');
    expect(scopesOfText('')).toEqual([]);
  });

  test('of a later version are left out: what is not known allows nothing', () => {
    expect(scopesOfText('stock:read pets:read stock:write')).toEqual(['pets:read']);
  });

  test('of a similar spelling allow nothing', () => {
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
    for (const word of near) expect(scopesOfText(word)).toEqual([]);
  });

  test('never give what is no word of the text, whatever it is', () => {
    always(
      fc.oneof(fc.string(), fc.array(fc.constantFrom(...scopes, 'all', '', '*')).map(String)),
      (text) => {
        for (const scope of scopesOfText(text)) expect(text.split(' ')).toContain(scope);
      },
    );
  });
});

describe('the scopes of operations', () => {
  test('unless a key says otherwise are those of the three operations of the specification', () => {
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

  test('are there for everything but the limits of one’s own', () => {
    expect(
      allOperations.filter(({ scope }) => scope === undefined).map(({ operationId }) => operationId),
    ).toEqual(['getRateLimit']);
  });

  test('that read are never those that write, but for the webhooks of the account', () => {
    for (const { method, scope } of allOperations) {
      if (scope !== undefined && scope !== 'webhooks:write')
        expect(scope.endsWith(':read')).toBe(method === 'GET');
    }
  });
});
