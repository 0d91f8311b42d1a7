import { expect, test } from 'bun:test';
import { adminContractText } from '../../scripts/openapi/admin-document.ts';
import { adminErrorCodes, adminErrorsOf } from '../../src/contract/admin/errors.ts';
import { adminOperations, allAdminOperations, roleOf } from '../../src/contract/admin/operations.ts';
import { adminErrors, clientErrors, type ErrorCode, errors } from '../../src/contract/errors.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { misfitsIn, redoclyProblems, spectralProblems } from './document-rules.ts';

const committed = await Bun.file(new URL('../../contract/admin-openapi.json', import.meta.url)).text();
const document = JSON.parse(committed) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
};

interface Documented {
  readonly operationId: string;
  readonly 'x-required-role'?: string;
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, object>>;
}

test('the committed document is what the code does', () => {
  // If this fails on purpose: `npm run contract`.
  expect(committed).toBe(adminContractText());
});

test("Redocly's recommended rules find nothing", async () => {
  expect(await redoclyProblems(served())).toEqual([]);
});

test("Spectral's rules for OpenAPI find nothing", async () => {
  expect(await spectralProblems(served())).toEqual([]);
});

/** With an address, which the rules ask for: the committed one names its server relative to where it is served. */
function served(): string {
  const servers = [{ url: 'https://admin.example.org/admin/v1' }];
  const contact = { url: 'https://example.com/support' };
  const info = { ...(document as unknown as { info: object }).info, contact };
  return JSON.stringify({ ...document, info, servers });
}

test('every example fits its schema', () => {
  expect(misfitsIn(document)).toEqual([]);
});

test('every operation is there with the role it needs and the statuses it may answer', () => {
  const documented = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(documented.map(({ operationId }) => operationId).sort()).toEqual(
    Object.keys(adminOperations).sort(),
  );
  for (const operation of allAdminOperations) {
    const found = documented.find(({ operationId }) => operationId === operation.operationId);
    expect(found?.['x-required-role']).toBe(roleOf(operation));
    expect(found?.security).toEqual(roleOf(operation) === undefined ? [] : undefined);
    const statuses = [
      ...Object.keys(operation.success.descriptions).map(Number),
      ...adminErrorsOf(operation).map((code) => errors[code].status),
    ];
    expect(Object.keys(found?.responses ?? {}).map(Number)).toEqual(
      [...new Set(statuses)].sort((a, b) => a - b),
    );
  }
});

test('an operation that clients have, too, is the same row; operators keep one that clients lose', () => {
  const rows: Readonly<Record<string, Operation>> = operations;
  for (const [id, row] of Object.entries<Operation>(adminOperations)) {
    const { deprecation, ...kept } = rows[id] ?? row;
    if (deprecation === undefined) expect(row).toBe(rows[id] ?? row);
    else expect(row).toEqual({ ...kept, description: row.description });
  }
});

test('every error of operators is of some operation, and none is among those of clients', () => {
  const strangers = Object.keys(adminErrors).filter((code) => !adminErrorCodes.includes(code as ErrorCode));
  expect(strangers).toEqual([]);
  expect(Object.keys(adminErrors).filter((code) => code in clientErrors)).toEqual([]);
});
