/** Words that show a sentence was translated. Each folder has no more of them than it had, and in the end none. */
import { expect, test } from 'bun:test';
import { type Allowances, refuseBeyond } from './allowance.ts';
import { bare, projectFiles, type Source } from './sources.ts';

/** How many are left in each top folder; '.' is the root. Numbers only shrink. */
const allowed: Allowances = {
  '.github': [1],
  '.': [29],
  assets: [1],
  bench: [19],
  client: [10],
  console: [37],
  deploy: [5],
  docs: [156],
  examples: [3],
  scripts: [4],
  src: [87],
  test: [234],
};

const telltales = new RegExp(
  [
    '\\b(?:told|anew|whoever|nobody|meanwhile|under way|once more|for good|so many|asked for|unless given)\\b',
    '\\bwho (?:serves|asks|waits|writes|reads|answers|comes)\\b',
    '\\bwhat (?:it|they) (?:is|are|was|were|has|have)\\b',
    '\\b(?:of (?:its|their) own|became of|c(?:o|a)mes? (?:to be|about)|goes? on|went on)\\b',
    ', too[.,;:)]',
  ].join('|'),
  'gi',
);

const written = /\.(?:tsx?|md|sh|ya?ml|html|css|sql|lua|toml|service)$|\/run$/;
/** Generated from sources that are counted, written by others, or this list itself. */
const uncounted =
  /^(?:contract\/|client\/src\/contract\.ts|assets\/vendor|package-lock|test\/tidy\/words\.test\.ts$)/;

/** The telltales in what people read: comments and strings of code, and the whole of other files. */
function telltalesIn({ path, text }: Source): string[] {
  const code = path.endsWith('.ts') ? bare(text) : '';
  return [...text.matchAll(telltales)]
    .filter(({ index, 0: words }) => code.slice(index, index + words.length) !== words)
    .map(({ index, 0: words }) => `${path}:${text.slice(0, index).split('\n').length}: ${words}`);
}

test('no folder has more telltales of translated English than it had', () => {
  const files = projectFiles().filter(({ path }) => written.test(path) && !uncounted.test(path));
  const folders = Map.groupBy(files, ({ path }) => /^([^/]+)\//.exec(path)?.[1] ?? '.');
  const places = new Map([...folders].map(([folder, sources]) => [folder, sources.flatMap(telltalesIn)]));
  refuseBeyond(allowed, "Use the field's terms and plain sentences. What is new is among these:", places);
});

test('telltales are found in comments and strings, and not in names', () => {
  const text = "/** Whoever waits. */\nconst told = 'asked for, too';\n";
  expect(telltalesIn({ path: 'src/x.ts', text })).toEqual(['src/x.ts:1: Whoever', 'src/x.ts:2: asked for']);
});
