/** What caches and browsers may do with a response, as the contract declares it. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { errors } from '../../src/contract/errors.ts';
import { allOperations, errorsOf } from '../../src/contract/operations.ts';
import { type Document, resolvedIn } from './document.ts';

const document: Document = await Bun.file(join(import.meta.dir, '../../contract/openapi.json')).json();

for (const operation of allOperations) {
  const { operationId, path, method, success } = operation;
  const { responses = {} } = document.paths[path]?.[method.toLowerCase()] ?? {};

  test(`${operationId}: every status that it answers is declared`, () => {
    const statuses = [
      ...Object.keys(success.descriptions),
      ...errorsOf(operation).map((code) => errors[code].status),
    ];
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses.map(String)));
  });

  // That real responses are as declared is checked of each by `call`; this is what is declared.
  test.each(Object.entries(responses))(
    `${operationId} %s: is private, an error never stored, and its type not guessed`,
    (status, declared) => {
      const { headers = {} } = resolvedIn(document, declared);
      const constant = (name: string) => {
        const header = headers[name];
        const { required, schema } = resolvedIn(document, header ?? { schema: {} });
        return required ? schema.const : undefined;
      };
      expect(constant('Cache-Control')).toBe(Number(status) < 400 ? 'private, no-cache' : 'no-store');
      expect(constant('X-Content-Type-Options')).toBe('nosniff');
    },
  );
}
