/** What every operation has to have besides its row and its function; test/robustness looks for what generates its requests. */
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allOperations, basePath } from '../../src/contract/operations.ts';
import { root } from '../support/process.ts';

const guidesFolder = join(root, 'docs/guides');
const guides = readdirSync(guidesFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(guidesFolder, name), 'utf8'));

describe.each([...allOperations])('$operationId', ({ operationId, method, path }) => {
  test('has a file of tests', () => {
    const file = `test/api/${operationId}.test.ts`;
    if (!existsSync(join(root, file))) throw new Error(`Write ${file}: a test for each guarantee.`);
  });

  test('is named in a guide', () => {
    const name = `\`${method} ${basePath}${path}\``;
    if (!guides.some((text) => text.includes(name)))
      throw new Error(`Name ${name} in a guide, at least in the table of docs/guides/README.md.`);
  });
});

test('there is no file of tests for an operation that is gone', () => {
  const ids: readonly string[] = allOperations.map(({ operationId }) => operationId);
  const files = readdirSync(join(root, 'test/api')).flatMap(
    (file) => /^(\w+)\.test\.ts$/.exec(file)?.[1] ?? [],
  );
  // Files about what operations have in common are named in lower case, by their subject.
  const strangers = files.filter((name) => /[A-Z]/.test(name) && !ids.includes(name));
  expect(strangers).toEqual([]);
});
