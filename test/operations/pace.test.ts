/** Long tasks yield to requests and keep little in memory, however many items they process. */

import { describe, expect, test } from 'bun:test';
import { Pacer } from '../../src/domain/pacer.ts';
import { readAllEntries } from '../../src/operations/admin/audit.ts';
import { CsvReader } from '../../src/operations/files/csv.ts';
import { NdjsonReader } from '../../src/operations/files/ndjson.ts';
import type { RecordReader } from '../../src/operations/files/records.ts';
import { Rows } from '../../src/operations/files/rows.ts';
import { type ImportBatch, ImportOperations, type ImportRow } from '../../src/operations/imports/imports.ts';
import { temporaryFolder } from '../support/folder.ts';
import { makeStore, operatorOf } from '../support/process.ts';

const header = 'name,categoryId,status\n';
const { signal } = new AbortController();

/**
 * The rows of a file that arrives in one chunk. On this clock, each reading is a millisecond later than the one before.
 */
function rowsOf(reader: RecordReader, content: string): Rows {
  async function* read() {
    yield Buffer.from(content);
  }
  let now = 0;
  return new Rows({ input: { name: 'The file', read }, reader, signal, pacer: new Pacer(() => now++) });
}

/** Number of event-loop ticks that pass during the work. */
async function ticksDuring(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  let isOver = false;
  const count = () => {
    ticks++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return ticks;
}

const members = Array.from({ length: 1_000 }, (_, index) => `"unknown${index}":1`).join(',');
const wrongRow = `{"name":"x","categoryId":1,${members}}\n`;

describe('reading an import yields to the event loop', () => {
  const lines = 200;
  test.each([
    ['within blank lines', new CsvReader(), header + '\n'.repeat(lines)],
    ['within rejected rows', new NdjsonReader(), wrongRow.repeat(lines)],
    ['within rows whose quote is never closed', new CsvReader(), `${header}"\n${',\n'.repeat(lines)}`],
    ['within valid rows', new CsvReader(), header + 'a,1,sold\n'.repeat(lines)],
  ])('%s', async (_what, reader, content) => {
    const rows: ImportRow[] = [];
    const ticks = await ticksDuring(async () => {
      for await (const some of rowsOf(reader, content)) rows.push(...some);
    });
    // At most two clock readings per slice.
    expect(ticks).toBeGreaterThan(lines / 2);
  });
});

test('the reason for rejecting a row lists the first few mistakes and the number of the others', async () => {
  const twice = members.slice(0, members.indexOf(',"unknown300"'));
  const reasons: string[] = [];
  for await (const rows of rowsOf(new NdjsonReader(), `${wrongRow}{"name":"x",${twice},${twice}}\n`)) {
    for (const row of rows) if ('reason' in row) reasons.push(row.reason);
  }
  expect(reasons).toEqual([
    expect.stringMatching(/^unknown0 is unknown; .*; unknown4 is unknown; .*; and 995 more$/),
    expect.stringMatching(
      /^unknown0 is given more than once; unknown1 is given more than once; .*; and 29\d more$/,
    ),
  ]);
});

test('long rejected rows are committed before they fill up memory', async () => {
  const rows = rowsOf(new NdjsonReader(), wrongRow.repeat(150));
  const groups: ImportBatch[] = [];
  const task = { source: undefined, stored: undefined, rows, signal };
  for await (const group of new ImportOperations(undefined).add(task)) groups.push(group);
  const bytes = groups.map(({ rejected }) => rejected.reduce((sum, row) => sum + row.bytes.length, 0));
  expect(Math.max(...bytes)).toBeLessThan(1_048_576 + wrongRow.length);
  expect(groups.at(-1)?.progress).toMatchObject({ rejected: 150, finished: true });
});

test('exporting the audit log of an embedded store yields to the event loop', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  await using operator = await operatorOf(folder.path);
  const { storage } = operator;
  const entry = {
    at: 0,
    actor: 'cli:test',
    operation: 'liftBan',
    object: 'key:1',
    before: null,
    after: null,
  };
  const count = 10_000;
  await Promise.all(Array.from({ length: count }, () => storage.write('recordAudit', entry)));
  let exported = 0;
  const ticks = await ticksDuring(async () => {
    for await (const _ of readAllEntries(storage, {})) exported++;
  });
  expect(exported).toBe(count);
  // On a fast machine, a time slice is enough for several of the ten pages. Without slices, there is no tick.
  expect(ticks).toBeGreaterThan(1);
});
