import { expect, test } from 'bun:test';
import { generatedDocs } from '../../scripts/generated-docs.ts';

for (const { path, text } of await generatedDocs()) {
  test(`${path} says what the code says (npm run docs writes it anew)`, async () => {
    expect(await Bun.file(path).text()).toBe(text);
  });
}
