/**
 * Finds words that are typical of translated sentences. The number of such words in each folder must never increase.
 */
import { expect, test } from 'bun:test';
import { type Allowances, refuseBeyond } from './allowance.ts';
import { bare, projectFiles, type Source } from './sources.ts';

/** Allowed number in each top-level folder. '.' is the root. The numbers may decrease but never increase. */
const allowed: Allowances = {
  '.github': [0],
  '.': [0],
  assets: [0],
  bench: [0],
  client: [0],
  console: [0],
  deploy: [0],
  docs: [0],
  examples: [0],
  sandbox: [0],
  src: [3],
  test: [19],
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
/** Excluded: generated files (their sources are counted), third-party files, and this list. */
const uncounted =
  /^(?:contract\/|client\/src\/contract\.ts|assets\/vendor|package-lock|test\/tidy\/words\.test\.ts$)/;

/** The telltale words in a file. In code, only comments and strings count. */
function telltalesIn({ path, text }: Source): string[] {
  const code = path.endsWith('.ts') ? bare(text) : '';
  return [...text.matchAll(telltales)]
    .filter(({ index, 0: words }) => code.slice(index, index + words.length) !== words)
    .map(({ index, 0: words }) => `${path}:${text.slice(0, index).split('\n').length}: ${words}`);
}

test('no folder contains more words that are typical of translations than allowed', () => {
  const files = projectFiles().filter(({ path }) => written.test(path) && !uncounted.test(path));
  const folders = Map.groupBy(files, ({ path }) => /^([^/]+)\//.exec(path)?.[1] ?? '.');
  const places = new Map([...folders].map(([folder, sources]) => [folder, sources.flatMap(telltalesIn)]));
  refuseBeyond(allowed, "Use the field's terms and plain sentences. The new words are among these:", places);
});

test('telltale words are detected in comments and strings, but not in identifiers', () => {
  const text = "/** Whoever waits. */\nconst told = 'asked for, too';\n";
  expect(telltalesIn({ path: 'src/x.ts', text })).toEqual(['src/x.ts:1: Whoever', 'src/x.ts:2: asked for']);
});
