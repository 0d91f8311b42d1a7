import { expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import Ajv from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { contractText } from '../../scripts/openapi/document.ts';
import { openapiText } from '../../src/cli/openapi.ts';
import { errors } from '../../src/contract/errors.ts';
import { operations } from '../../src/contract/operations.ts';

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
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: served, absoluteRef: 'openapi.json', config });
  expect(
    problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer })),
  ).toEqual([]);
});

test("Spectral's rules for OpenAPI find nothing", async () => {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas] } as RulesetDefinition);
  const problems = await spectral.run(served);
  expect(problems.map(({ code, message, path }) => ({ code, message, at: path.join('/') }))).toEqual([]);
});

test('every example fits its schema', () => {
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
  ajv.addSchema({ $id: 'document', ...(document as object) });
  const examples = [...examplesIn(document)];
  expect(examples.length).toBeGreaterThan(40);
  const misfits = examples.filter(({ schema, value }) => !ajv.validate(`document#${schema}`, value));
  expect(misfits).toEqual([]);
});

test('every error an operation answers with has an example with its code and status', () => {
  const examples = [...examplesIn(document)].map(({ value }) => value as { code?: string; status?: number });
  for (const code of Object.values(operations).flatMap((operation) => operation.errors)) {
    expect(examples).toContainEqual(expect.objectContaining({ code, status: errors[code].status }));
  }
});

interface Example {
  /** JSON Pointer of the schema it must fit, as a URI fragment. */
  readonly schema: string;
  readonly value: unknown;
}

/** The examples of media types (beside their schema) and of schemas (within them). */
function* examplesIn(node: unknown, pointer = ''): Generator<Example> {
  if (typeof node !== 'object' || node === null) return;
  const { schema, examples } = node as { schema?: unknown; examples?: unknown };
  if (Array.isArray(examples)) {
    for (const value of examples) yield { schema: pointer, value };
  } else if (schema !== undefined) {
    for (const example of Object.values(examples ?? {})) {
      yield { schema: `${pointer}/schema`, value: resolved(example).value };
    }
  }
  for (const [key, child] of Object.entries(node)) {
    yield* examplesIn(
      child,
      `${pointer}/${encodeURIComponent(key.replace(/~/g, '~0').replace(/\//g, '~1'))}`,
    );
  }
}

function resolved(example: { $ref?: string; value?: unknown }): { value?: unknown } {
  if (example.$ref === undefined) return example;
  return example.$ref
    .slice(2)
    .split('/')
    .reduce((node, key) => (node as Record<string, unknown>)[key], document) as object;
}
