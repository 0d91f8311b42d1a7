/** Markdown that is rendered differently than intended. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { root } from '../support/process.ts';

const documents = [
  ...new Bun.Glob('*.md').scanSync(root),
  ...new Bun.Glob('{client,deploy,docs,examples}/**/*.md').scanSync(root),
]
  .filter((path) => !path.includes('node_modules'))
  .sort();

/** Passages that a reader would see as raw Markdown, and table rows from which the renderer drops cells. */
function misrendered(markdown: string): string[] {
  const html = Bun.markdown.html(markdown).replace(/<(pre|code)\b[\s\S]*?<\/\1>/g, '');
  const raw = html.split('\n').filter((line) => /^(?:<p>)?\||\]\(|\*\*|```|^(?:<p>)?#{1,6} /.test(line));
  return [...raw, ...unevenRows(markdown)];
}

/** Rows with more or fewer cells than the row above. A `|` in a cell must be escaped, even in code. */
function unevenRows(markdown: string): string[] {
  const cells = (row: string) => row.match(/(?<!\\)\|/g)?.length;
  const lines = markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '').split('\n');
  return lines.filter((line, index) => {
    const above = lines[index - 1] ?? '';
    return line.startsWith('|') && above.startsWith('|') && cells(line) !== cells(above);
  });
}

test.each(documents)('%s is rendered without raw Markdown and with complete tables', async (path) => {
  expect(misrendered(await Bun.file(join(root, path)).text())).toEqual([]);
});

test('a table interrupted by a blank line, an unescaped | and unclosed bold text are detected', () => {
  const table = '| a | b |\n|---|---|\n| c | d |\n';
  expect(misrendered(table)).toEqual([]);
  expect(misrendered(`${table}\n| e | f |\n`)).toEqual([expect.stringContaining('| e | f |')]);
  expect(misrendered(`${table}| \`e|f\` | g |\n`)).toEqual(['| `e|f` | g |']);
  expect(misrendered('**bold')).toEqual(['<p>**bold</p>']);
});
