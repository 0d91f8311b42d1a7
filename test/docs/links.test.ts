/** Links between documents, and to headings in documents. */
import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { referencedScreenshots } from '../../scripts/screenshots/referenced.ts';
import { root } from '../support/process.ts';

const documents = [
  ...[
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'examples/README.md',
    'client/README.md',
  ],
  ...[...new Bun.Glob('docs/**/*.md').scanSync(root)].sort(),
];

const read = (path: string) => Bun.file(join(root, path)).text();

/** The document without code blocks and comments. */
const proseOf = (markdown: string) =>
  markdown.replace(/^```[\s\S]*?^```$/gm, '').replace(/<!--[\s\S]*?-->/g, '');

/** The targets of links and images, including those in HTML. */
function linksIn(markdown: string): string[] {
  const found = proseOf(markdown)
    .replace(/`[^`\n]*`/g, '')
    .matchAll(/\]\(([^()\s]+)\)|(?:href|src|srcset)="([^"]*)"/g);
  return [...found].map(([, target, attribute]) => target ?? attribute ?? '');
}

/** Fragments of a document's headings, as on GitHub: the fragment of a repeated heading ends in `-1`. */
function fragmentsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>();
  const fragments = [...proseOf(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(fragments);
}

/** Describes what is wrong with a link in a document. Undefined if the target exists. */
async function brokenLink(document: string, target: string): Promise<string | undefined> {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [path = '', fragment] = target.split('#');
  const file = path === '' ? document : relative(root, resolve(root, document, '..', decodeURI(path)));
  const exists = (await Bun.file(join(root, file)).exists()) || isFolder(file);
  if (!exists) return `${document}: ${target}: there is no ${file}`;
  if (fragment === undefined) return undefined;
  return fragmentsOf(await read(file)).has(fragment) ? undefined : `${document}: ${target}: no such heading`;
}

const isFolder = (path: string) =>
  !new Bun.Glob(`${path.replace(/\/$/, '')}/*`).scanSync({ cwd: root, dot: true }).next().done;

test.each(documents)('every link in %s points to an existing file and heading', async (document) => {
  const broken = await Promise.all(
    linksIn(await read(document)).map((target) => brokenLink(document, target)),
  );
  expect(broken.filter((problem) => problem !== undefined)).toEqual([]);
});

test('every screenshot in docs is shown in a document', async () => {
  const shown = await referencedScreenshots();
  expect(readdirSync(join(root, 'docs/screenshots')).filter((name) => !shown.has(name))).toEqual([]);
});

test('links in Markdown and HTML are found, and headings have the same fragments as on GitHub', () => {
  const text = '[a](b.md#c) ![d](e.svg) <img src="f.svg">\n```\n[no](code.md)\n```\n`[no](code.md)`\n';
  expect(linksIn(text)).toEqual(['b.md#c', 'e.svg', 'f.svg']);
  expect([...fragmentsOf('# A `b`: c, d\n## x_y\n## x_y\n')]).toEqual(['a-b-c-d', 'x_y', 'x_y-1']);
});
