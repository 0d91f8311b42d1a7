import { expect, test } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import { projectFiles } from '../tidy/sources.ts';

const expected = Object.entries(plans).map(([name, { perMinute, perDay }]) =>
  [name, perMinute, perDay].join(' '),
);

/** The rows of the plan tables in a document, in the same format as `expected`. */
function plansIn(text: string): string[] {
  const tables = text.matchAll(/^\| *Plan *\|.*\n\|[-| :]+\|\n((?:\|.*\n)+)/gim);
  return [...tables].flatMap(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) =>
        row.split('|').slice(1, 4).join(' ').replaceAll(',', '').trim().replace(/ +/g, ' ').toLowerCase(),
      )
      .filter((row) => !row.startsWith('enterprise')),
  );
}

const documents = projectFiles()
  .filter(({ path }) => path.endsWith('.md'))
  .map(({ path, text }) => ({ path, found: plansIn(text) }))
  .filter(({ found }) => found.length > 0);

test.each(documents)("the plans in $path match the service's plans", ({ found }) => {
  expect(found).toEqual(expected);
});

test('the rate limits guide lists the plans', () => {
  expect(documents.map(({ path }) => path)).toContain('docs/guides/rate-limits.md');
});
