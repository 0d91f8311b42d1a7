import { expect, test } from 'bun:test';
import { contractText } from '../../scripts/openapi/document.ts';
import { openapiText } from '../../src/cli/openapi.ts';
import { errors } from '../../src/contract/errors.ts';
import { operations } from '../../src/contract/operations.ts';
import { examplesIn, misfitsIn, redoclyProblems, spectralProblems } from './document-rules.ts';

const committed = await Bun.file(new URL('../../contract/openapi.json', import.meta.url)).text();
const document: unknown = JSON.parse(committed);

test('the committed document is what the code promises', () => {
  // If this fails on purpose: `npm run contract`, and see in the diff that what is stable only gained.
  expect(committed).toBe(contractText());
});

/** As it is served: who runs the service, and where, is no part of the promise. */
const served = openapiText(
  {
    publicUrl: 'https://animals.example.org',
    stagingUrl: undefined,
    operatorUrl: 'https://example.com/support',
    operatorEmail: 'api@example.com',
  },
  '',
);

test('the contact is the operator that is configured, or none', () => {
  expect((JSON.parse(served) as { info: object }).info).toMatchObject({
    contact: { url: 'https://example.com/support', email: 'api@example.com' },
  });
  expect((document as { info: object }).info).not.toHaveProperty('contact');
});

test("Redocly's recommended rules find nothing", async () => {
  expect(await redoclyProblems(served)).toEqual([]);
});

test("Spectral's rules for OpenAPI find nothing", async () => {
  expect(await spectralProblems(served)).toEqual([]);
});

test('every example fits its schema', () => {
  expect([...examplesIn(document)].length).toBeGreaterThan(40);
  expect(misfitsIn(document as object)).toEqual([]);
});

test('every error an operation answers with has an example with its code and status', () => {
  const examples = [...examplesIn(document)].map(({ value }) => value as { code?: string; status?: number });
  for (const code of Object.values(operations).flatMap((operation) => operation.errors)) {
    expect(examples).toContainEqual(expect.objectContaining({ code, status: errors[code].status }));
  }
});

test('no header that changes what a request does has an example: the reference page would send it with every sample', () => {
  const { parameters } = (document as { components: { parameters: Record<string, HeaderParameter> } })
    .components;
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

test('the ids of listPets are an array of int64, separated by commas', () => {
  const { paths } = document as { paths: { '/pets': { get: { parameters: { name: string }[] } } } };
  expect(paths['/pets'].get.parameters.find(({ name }) => name === 'id')).toMatchObject({
    style: 'form',
    explode: false,
    schema: { type: 'array', items: { type: 'integer', format: 'int64' }, minItems: 1, maxItems: 100 },
  });
});
