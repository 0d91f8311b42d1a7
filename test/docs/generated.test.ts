import { expect, test } from 'bun:test';
import { generatedDocs } from '../../scripts/generated-docs.ts';

for (const { path, text } of await generatedDocs()) {
  test(`${path} matches the code (to update the file, run npm run docs)`, async () => {
    expect(await Bun.file(path).text()).toBe(text);
  });
}
