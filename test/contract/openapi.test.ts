/** Both OpenAPI documents match the code. test/robustness/openapi.test.ts checks the rules for OpenAPI documents. */
import { describe, expect, test } from 'bun:test';
import { generateAdminContract } from '../../scripts/openapi/admin-document.ts';
import { adminErrorCodes, possibleAdminErrors } from '../../scripts/openapi/admin-errors.ts';
import { generateContract } from '../../scripts/openapi/document.ts';
import { adminOperations, allAdminOperations, requiredRole } from '../../src/contract/admin/operations.ts';
import { adminErrors, clientErrors, type ErrorCode, errors } from '../../src/contract/errors.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { allOperations, operations, possibleErrors } from '../../src/contract/operations.ts';
import { type Document, resolvedIn } from './document.ts';
import { examplesIn, misfitsIn } from './document-rules.ts';
import { adminText, clientText, servedClient } from './served.ts';

const client = JSON.parse(clientText) as Document;
const admin = JSON.parse(adminText) as Document;

describe.each([
  { name: 'openapi.json', text: clientText, made: generateContract },
  { name: 'admin-openapi.json', text: adminText, made: generateAdminContract },
])('$name', ({ text, made }) => {
  test('matches the code (npm run contract updates it)', () => {
    // If the change is intended, run `npm run contract`, and check in the diff that stable parts only gained members.
    expect(text).toBe(made());
  });

  test('contains only examples that match their schema', () => {
    expect(misfitsIn(JSON.parse(text))).toEqual([]);
  });
});

test('every error of an operation has an example with its code and status', () => {
  const examples = [...examplesIn(client)].map(({ value }) => value as { code?: string; status?: number });
  for (const code of Object.values(operations).flatMap((operation) => operation.errors)) {
    expect(examples).toContainEqual(expect.objectContaining({ code, status: errors[code].status }));
  }
});

test('the contact is the configured operator, or is absent', () => {
  const contact = { url: 'https://example.com/support', email: 'api@example.com' };
  expect((JSON.parse(servedClient) as { info: object }).info).toMatchObject({ contact });
  expect((client as unknown as { info: object }).info).not.toHaveProperty('contact');
});

// `call` compares each real response with its declaration. These tests check the declarations.
describe.each([...allOperations])('$operationId', (operation) => {
  const { path, method, success } = operation;
  const { responses = {} } = client.paths[path]?.[method.toLowerCase()] ?? {};

  test('declares every possible status', () => {
    const statuses = possibleErrors(operation).map((code) => String(errors[code].status));
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining([...Object.keys(success.descriptions), ...statuses]),
    );
  });

  test('declares Cache-Control and X-Content-Type-Options for every status', () => {
    for (const [status, declared] of Object.entries(responses)) {
      const { headers = {} } = resolvedIn(client, declared);
      const constant = (name: string) => {
        const { required, schema } = resolvedIn(client, headers[name] ?? { schema: {} });
        return required ? schema.const : undefined;
      };
      const caching = Number(status) < 400 && !success.stream ? 'private, no-cache' : 'no-store';
      expect([status, constant('Cache-Control')]).toEqual([status, caching]);
      expect([status, constant('X-Content-Type-Options')]).toEqual([status, 'nosniff']);
    }
  });
});

describe('the admin document', () => {
  test('contains every operation with its role and possible statuses', () => {
    const documented = Object.values(admin.paths).flatMap((methods) => Object.values(methods));
    expect(documented.map((one) => one?.operationId).sort()).toEqual(Object.keys(adminOperations).sort());
    for (const operation of allAdminOperations) {
      const found = documented.find((one) => one?.operationId === operation.operationId);
      expect(found).toHaveProperty('responses');
      const role = requiredRole(operation);
      expect([found?.['x-required-role'], found?.security]).toEqual([
        role,
        role === undefined ? [] : undefined,
      ]);
      const statuses = [
        ...Object.keys(operation.success.descriptions).map(Number),
        ...possibleAdminErrors(operation).map((code) => errors[code].status),
      ];
      expect(Object.keys(found?.responses ?? {}).map(Number)).toEqual(
        [...new Set(statuses)].sort((a, b) => a - b),
      );
    }
  });

  test('defines client operations as the client document does, except for descriptions, additional filters and deprecation', () => {
    const rows: Readonly<Record<string, Operation>> = operations;
    for (const [id, row] of Object.entries<Operation>(adminOperations)) {
      const { deprecation: _, ...kept } = rows[id] ?? row;
      const { description, query, success } = row;
      expect(row).toEqual({ ...kept, description, success, ...(query && { query }) });
      const { schema, descriptions } = kept.success;
      expect(success).toMatchObject({ ...(schema && { schema }), descriptions });
      for (const [name, schema] of Object.entries(kept.query?.shape ?? {}))
        expect([id, name, query?.shape[name] === schema]).toEqual([id, name, true]);
    }
  });

  test('uses every admin error code, and the client API uses none of them', () => {
    const unused = Object.keys(adminErrors).filter((code) => !adminErrorCodes.includes(code as ErrorCode));
    expect(unused).toEqual([]);
    expect(Object.keys(adminErrors).filter((code) => code in clientErrors)).toEqual([]);
  });
});

test('header parameters have no examples, because the reference page would send them with every sample request', () => {
  const { parameters } = (
    client as unknown as { components: { parameters: Record<string, HeaderParameter> } }
  ).components;
  const headers = Object.values(parameters).filter((each) => each.in === 'header');
  expect(headers.map(({ name }) => name)).toContain('Idempotency-Key');
  for (const { example, examples, schema } of headers) {
    expect([example, examples, schema.examples, schema.default]).toEqual(Array(4).fill(undefined));
  }
});

interface HeaderParameter {
  readonly in: string;
  readonly name: string;
  readonly example?: unknown;
  readonly examples?: unknown;
  readonly schema: { readonly examples?: unknown; readonly default?: unknown };
}

test('the id parameter of listPets is a comma-separated array of int64', () => {
  const { paths } = client as unknown as { paths: { '/pets': { get: { parameters: { name: string }[] } } } };
  expect(paths['/pets'].get.parameters.find(({ name }) => name === 'id')).toMatchObject({
    style: 'form',
    explode: false,
    schema: { type: 'array', items: { type: 'integer', format: 'int64' }, minItems: 1, maxItems: 100 },
  });
});
