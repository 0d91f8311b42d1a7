/** A 400 response lists all errors in a request, even if the body cannot be read. */
import { describe, expect, test } from 'bun:test';
import { allOperations, isRepeatable } from '../../src/contract/operations.ts';
import { startAppForFile } from '../support/app.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startAppForFile();
await app.call('POST', '/pets', { body: newPet() });

const withBody = allOperations.filter(({ body }) => body !== undefined);

describe.each(withBody)('$operationId', (operation) => {
  const { method, path, body, preconditions } = operation;
  const header = isRepeatable(operation) ? 'Idempotency-Key' : preconditions ? 'If-Match' : undefined;
  const headers = { 'Content-Type': body?.types?.[0] ?? 'application/json', ...(header && { [header]: '' }) };
  const target = `${path.replace(/\{\w+\}/, '1')}?x=1`;
  const others = ['query:x', ...(header === undefined ? [] : [`header:${header}`])];

  test('reports invalid JSON as well as errors in the query and headers', async () => {
    const answer = await app.call(method, target, { headers, body: '{bad' });
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_json', [...others, 'body:']]);
    expect(answer.error.message).toContain('x is unknown');
    expect(answer.error.message).toContain('the body is not valid JSON: ');
  });

  if (body?.optional !== true) {
    test('reports a missing body as well as errors in the query and headers', async () => {
      const answer = await app.call(method, target, { headers, body: '' });
      expect([answer.error.code, faulty(answer)]).toEqual(['invalid_body', [...others, 'body:']]);
      expect(answer.error.message).toContain('the body is missing. Send a JSON object');
    });
  }
});

test('if the body is not valid JSON and nothing else is wrong, the error has a message but no details', async () => {
  const { error } = await app.call('POST', '/pets', { body: '{bad' });
  expect(error).toMatchObject({ code: 'invalid_json', status: 400 });
  expect(error.message).toStartWith('The request body is not valid JSON: ');
  expect(error.details).toBeUndefined();
});

test('a question mark in the name of a parameter is part of the name', async () => {
  const { error } = await app.call('GET', '/pets??limit=1');
  expect([error.code, error.details?.map(({ name }) => name)]).toEqual(['invalid_parameter', ['?limit']]);
});
