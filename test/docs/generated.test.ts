import { expect, test } from 'bun:test';
import { generateDocs } from '../../scripts/generate-docs.ts';

for (const { path, text } of await generateDocs()) {
  test(`${path} matches the code (to update the file, run npm run docs)`, async () => {
    expect(await Bun.file(path).text()).toBe(text);
  });
}
