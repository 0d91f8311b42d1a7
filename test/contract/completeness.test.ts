/**
 * Requirements for every operation. test/robustness checks that requests can be generated for each operation.
 */
import { describe, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allOperations, basePath } from '../../src/contract/operations.ts';
import { root } from '../support/process.ts';

const guidesFolder = join(root, 'docs/guides');
const guides = readdirSync(guidesFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(join(guidesFolder, name), 'utf8'));

describe.each([...allOperations])('$operationId', ({ method, path }) => {
  test('is mentioned in a guide', () => {
    const name = `\`${method} ${basePath}${path}\``;
    if (!guides.some((text) => text.includes(name))) throw new Error(`Name ${name} in a guide.`);
  });
});
