/** Interrupted imports add each row once, and the command explains how to resume. */
import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { totalAnimals } from '../../src/contract/pets.ts';
import { change } from '../support/backup.ts';
import { type Child, ended, type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';
import { dataFileIn, operatorOf } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** Rows of one category are committed in groups of 900. Every 47th row has no name. */
const groupLength = 900;
const rowCount = 15_000;
const rows = Array.from({ length: rowCount }, (_, row) => `${row % 47 === 0 ? '' : `n${row}`},7,sold\n`);
const rejectedCount = rows.filter((row) => row.startsWith(',')).length;
const addedCount = rowCount - rejectedCount;
const header = 'name,categoryId,status\n';
const content = `${header}${rows.join('')}`;

async function filledWorkplace(): Promise<Workplace> {
  const place = await newWorkplace();
  await place.write('pets.csv', content);
  return place;
}

/** Resolves when at least this number of animals is committed. */
async function committed(place: Workplace, count: number, child?: Child): Promise<void> {
  await using admin = await operatorOf(place.folder);
  await until(async () => {
    if (child?.exitCode) throw new Error(`The import ended with ${child.exitCode}.`);
    return totalAnimals(await admin.storage.pets.inventory()) >= count;
  });
}

async function expectAllOnce(place: Workplace): Promise<void> {
  expect(await place.json<object>('export', 'out.csv')).toEqual({ file: 'out.csv', exported: addedCount });
  const exported = await readFile(place.path('out.csv'), 'utf8');
  expect(exported === header + rows.filter((row) => !row.startsWith(',')).join('')).toBe(true);
}

test('a killed import resumes after the last committed line', async () => {
  await using place = await filledWorkplace();
  const data = dataFileIn(place.folder);
  const args = ['import', 'pets.csv', '--rejects', 'rejects.csv', '--force'];
  for (const row of [3_750, 8_750]) {
    // The trigger computes a sum over a huge join, so the group that contains this row never finishes.
    const endless = 'SELECT sum(a.id * b.id * c.id * d.id) FROM pets a, pets b, pets c, pets d';
    change(data, `CREATE TRIGGER hold AFTER INSERT ON pets WHEN NEW.name = 'n${row}' BEGIN ${endless}; END`);
    const child = place.start(args);
    const before = row - (row % groupLength);
    await committed(place, before - Math.ceil(before / 47), child);
    child.kill('SIGKILL');
    expect((await ended(child)).exitCode).toBe(137);
    change(data, 'DROP TRIGGER hold');
  }
  const said = await place.output(...args);
  // Of 8,100 rows, 173 have no name.
  expect(said).toStartWith('Resuming pets.csv after line 8101: imported 7,927, rejected 173 so far.\n');
  expect(said).toContain(
    `pets.csv: imported ${addedCount - 7_927}, rejected ${rejectedCount - 173} (of lines 8102–15001).\n`.replace(
      /imported (\d)(\d{3})/,
      'imported $1,$2',
    ),
  );
  await expectAllOnce(place);
  const rejects = (await readFile(place.path('rejects.csv'), 'utf8')).trimEnd().split('\n');
  expect(rejects).toHaveLength(1 + rejectedCount);
  expect(rejects[1]).toBe('2,name must not be empty,,7,sold');
  expect(await place.json<ImportReport>('import', 'pets.csv')).toMatchObject({
    status: 'already-complete',
    added: 0,
    total: { added: addedCount, rejected: rejectedCount },
  });
});

test('SIGINT stops an import after the current batch, and the message explains how to resume', async () => {
  await using place = await filledWorkplace();
  const importing = place.run(['import', 'pets.csv', '--json']);
  // The import runs in this process and commits one group per event-loop tick, so the wait ends after the first group.
  await committed(place, 1);
  process.emit('SIGINT');
  const broken = await importing;
  expect(broken.exitCode).toBe(1);
  expect(broken.stderr).toEndWith(
    '{"error":{"message":"Interrupted. To resume, run the same command again."}}\n',
  );
  const first = JSON.parse(broken.stdout) as ImportReport;
  expect(first.status).toBe('interrupted');
  expect(first.added + first.rejected).toBe(first.lastLine - 1);
  expect(await place.failure(2, 'import', 'pets.csv', '--from-line', '9')).toContain(
    `An import of pets.csv was interrupted after line ${first.lastLine}.`,
  );
  // An unfinished import resumes even with --again, so the interrupted command can be repeated unchanged.
  expect(await place.json<ImportReport>('import', 'pets.csv', '--again')).toMatchObject({
    status: 'complete',
    firstLine: first.lastLine + 1,
    firstId: (first.lastId ?? 0) + 1,
    total: { added: addedCount, rejected: rejectedCount },
  });
  await expectAllOnce(place);
});

test('an interrupted import from standard input prints the line number for --from-line', async () => {
  await using place = await newWorkplace();
  // The input is incomplete and stays open, so the import is still running when the signal arrives.
  const child = place.start(['import', '-', '--format', 'csv']);
  child.stdin.write(content.slice(0, content.lastIndexOf('\n', content.length * 0.8) + 1));
  await child.stdin.flush();
  await committed(place, 7_000, child);
  child.kill('SIGTERM');
  const { exitCode, stderr } = await ended(child);
  expect(exitCode).toBe(1);
  const [, line = ''] = /To resume, send the same input again with --from-line (\d+)\.\n$/.exec(stderr) ?? [];
  expect(Number(line)).toBeGreaterThan(7_000);
  const resumed = await place.run(['import', '-', '--format', 'csv', '--from-line', line], {
    stdin: content,
  });
  expect([resumed.exitCode, resumed.stderr]).toEqual([0, expect.any(String)]);
  await expectAllOnce(place);
});

test('two concurrent imports of the same file never add a row twice', async () => {
  await using place = await filledWorkplace();
  const results = await Promise.all([
    ended(place.start(['import', 'pets.csv'])),
    place.run(['import', 'pets.csv']),
  ]);
  expect(results.map(({ exitCode }) => exitCode)).toContain(0);
  for (const { exitCode, stderr } of results) {
    if (exitCode !== 0) expect(stderr).toContain('Another import of the same input is running');
  }
  await expectAllOnce(place);
});
