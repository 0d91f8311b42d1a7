import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** File names of the screenshots that the documents show. */
export async function referencedScreenshots(): Promise<ReadonlySet<string>> {
  const documents = ['*.md', 'docs/**/*.md'].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);
  const texts = await Promise.all(documents.map((path) => Bun.file(join(root, path)).text()));
  const names = texts.flatMap((text) => [...text.matchAll(/\bscreenshots\/([\w-]+\.png)\b/g)]);
  return new Set(names.map(([, name = '']) => name));
}
