/** Words that are typical of translated sentences. Their number in each folder may only decrease. */
import { expect, test } from 'bun:test';
import { type Allowances, refuseBeyond } from './allowance.ts';
import { bare, projectFiles, type Source } from './sources.ts';

/** Allowed number in each top folder; '.' is the root. Numbers may only decrease. */
const allowed: Allowances = {
  '.github': [1],
  '.': [0],
  assets: [0],
  bench: [0],
  client: [0],
  console: [0],
  deploy: [0],
  docs: [3],
  examples: [0],
  src: [4],
  test: [73],
};

const telltales = new RegExp(
  [
    '\\b(?:told|anew|whoever|nobody|meanwhile|under way|once more|for good|so many|asked for|unless given)\\b',
    '\\bwho (?:serves|asks|waits|writes|reads|answers|comes)\\b',
    '\\bwhat (?:it|they) (?:is|are|was|were|has|have)\\b',
    '\\b(?:of (?:its|their) own|became of|c(?:o|a)mes? (?:to be|about)|goes? on|went on)\\b',
    '\\b(?:somebody|anybody|any more|by (?:itself|themselves)|signs? of life|in good order|digit for digit)\\b',
    '\\bas (?:it|they) (?:is|was|are|were)(?=[.,;:)])',
    '(?:/\\*\\*|//) (?:What|Who)\\b',
    ', too[.,;:)]',
  ].join('|'),
  'gi',
);

const written = /\.(?:tsx?|md|sh|ya?ml|html|css|sql|lua|toml|service)$|\/run$/;
/** Generated from sources that are counted, written by others, or this list itself. */
const uncounted =
  /^(?:contract\/|client\/src\/contract\.ts|assets\/vendor|package-lock|test\/tidy\/words\.test\.ts$)/;

/** The telltales in comments and strings of code, and in other files. */
function telltalesIn({ path, text }: Source): string[] {
  const code = path.endsWith('.ts') ? bare(text) : '';
  return [...text.matchAll(telltales)]
    .filter(({ index, 0: words }) => code.slice(index, index + words.length) !== words)
    .map(({ index, 0: words }) => `${path}:${text.slice(0, index).split('\n').length}: ${words}`);
}

test('no folder contains more telltales of translated English than allowed', () => {
  const files = projectFiles().filter(({ path }) => written.test(path) && !uncounted.test(path));
  const folders = Map.groupBy(files, ({ path }) => /^([^/]+)\//.exec(path)?.[1] ?? '.');
  const places = new Map([...folders].map(([folder, sources]) => [folder, sources.flatMap(telltalesIn)]));
  refuseBeyond(allowed, "Use the field's terms and plain sentences. What is new is among these:", places);
});

test('telltales are found in comments and strings, but not in names', () => {
  const text = "/** Whoever waits. */\nconst told = 'asked for, too';\n";
  expect(telltalesIn({ path: 'src/x.ts', text })).toEqual(['src/x.ts:1: Whoever', 'src/x.ts:2: asked for']);
});
