/** A file that changes during an import: only the content that was hashed is imported and recorded. */
import { expect, test } from 'bun:test';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';

/** Several times as much as an import reads ahead. Line 2 is rejected, so that the first commit can be observed. */
const rowCount = 30_000;
const header = 'name,categoryId,status\n';
const rowsNamed = (name: string) =>
  Array.from({ length: rowCount }, (_, row) => `${name} ${String(row).padStart(40, '0')},1,sold\n`).join('');
const original = rowsNamed('kept');
const contentOf = (rows: string) => `${header},1,sold\n${rows}`;

const command = ['import', 'pets.csv', '--rejects', 'rejects.csv', '--force', '--json'];

/** Starts an import in this process, and calls `change` after the first commit. */
async function importWhile(place: Workplace, change: () => void) {
  const importing = place.run(command);
  // An import pauses after each commit, so this loop runs before the second one.
  for (const start = performance.now(); !existsSync(place.path('rejects.csv')); ) {
    if (performance.now() - start > 60_000) throw new Error('The import rejected nothing.');
    await new Promise((resolve) => setImmediate(resolve));
  }
  change();
  return importing;
}

async function expectOriginalOnce(place: Workplace): Promise<void> {
  await place.output('export', 'out.csv', '--force');
  expect((await readFile(place.path('out.csv'), 'utf8')) === header + original).toBe(true);
}

test('an import whose file is overwritten while it runs adds no row of the new content, and can be finished with the original', async () => {
  await using place = await newWorkplace();
  await place.write('pets.csv', contentOf(original));
  const changed = await importWhile(place, () =>
    writeFileSync(place.path('pets.csv'), contentOf(rowsNamed('evil')), { flag: 'r+' }),
  );
  expect(changed.exitCode).toBe(1);
  const first = JSON.parse(changed.stdout) as ImportReport;
  expect(first.status).toBe('failed');
  expect(changed.stderr).toContain(
    `pets.csv was changed while it was being read. Only rows of its original content were imported, up to line ${first.lastLine}, ` +
      'and the import is recorded as unfinished. To finish it, restore the original file and run the same command again. ' +
      'The changed file counts as another file, so importing it adds all of its rows again: ',
  );
  expect((await place.lastRows(first.added)).filter((row) => !row.includes('"kept '))).toEqual([]);
  await place.write('pets.csv', contentOf(original));
  expect(await place.json<ImportReport>('import', 'pets.csv')).toMatchObject({
    status: 'complete',
    firstLine: first.lastLine + 1,
    total: { added: rowCount, rejected: 1 },
  });
  await expectOriginalOnce(place);
});

test('an import whose file is truncated while it runs does not complete', async () => {
  await using place = await newWorkplace();
  await place.write('pets.csv', contentOf(original));
  const { exitCode, stderr } = await importWhile(place, () => writeFileSync(place.path('pets.csv'), ''));
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining('pets.csv was changed while it was being read.'),
  ]);
});

test('an import whose file is replaced while it runs imports the original, and does not mark the new file as imported', async () => {
  await using place = await newWorkplace();
  await place.write('pets.csv', contentOf(original));
  await place.write('new.csv', `${header}New,1,sold\n`);
  const { exitCode } = await importWhile(place, () =>
    renameSync(place.path('new.csv'), place.path('pets.csv')),
  );
  expect(exitCode).toBe(0);
  await expectOriginalOnce(place);
  expect(await place.json<ImportReport>('import', 'pets.csv')).toMatchObject({
    status: 'complete',
    added: 1,
  });
});
