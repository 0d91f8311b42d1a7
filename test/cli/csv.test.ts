import { describe, expect, test } from 'bun:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { NewPet } from '../../src/contract/pets.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { CsvReader, csvHeader, formatCsvRow } from '../../src/operations/files/csv.ts';
import { NdjsonReader } from '../../src/operations/files/ndjson.ts';
import { type InputRecord, LineSplitter, type RecordReader } from '../../src/operations/files/records.ts';
import { always as alwaysFor, anyInt64 } from '../support/property.ts';

/** Uses fewer cases than the default, because each case is parsed several times. */
const always: typeof alwaysFor = (cases, property) => alwaysFor(cases, property, 300);

/** Reads the bytes in chunks of this size. Returns the records, each with its animal or error. */
function read(reader: RecordReader, bytes: Buffer, chunkBytes: number) {
  const splitter = new LineSplitter();
  const records: InputRecord[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const lines = splitter.push(bytes.subarray(at, at + chunkBytes));
    records.push(...lines.flatMap((line) => reader.take(line)));
  }
  records.push(...splitter.end().flatMap((line) => reader.take(line)), ...reader.end());
  return records.map((record) => ({ ...record, checked: reader.check(record) }));
}

const anyPet = fc
  .record({
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    categoryId: anyInt64,
    status: fc.constantFrom(...petStatuses),
  })
  .filter((pet) => NewPet.safeParse(pet).success);
const anyPets = fc.array(anyPet, { maxLength: 20 });
const anyChunk = fc.integer({ min: 1, max: 64 });

describe('a file written by export', () => {
  test('is read back unchanged by import, regardless of chunk size', () => {
    always(fc.tuple(anyPets, anyChunk), ([pets, chunkBytes]) => {
      const text = csvHeader + pets.map((pet) => formatCsvRow({ id: 1n, ...pet })).join('');
      const records = read(new CsvReader(), Buffer.from(text), chunkBytes);
      expect(records.map(({ checked }) => checked)).toEqual(pets.map((pet) => ({ pet })));
      expect(records.map(({ line }) => line)).toEqual(pets.map((_, row) => row + 2));
    });
  });

  test('is parsed identically by another CSV parser', () => {
    always(anyPets, (pets) => {
      const text = csvHeader + pets.map((pet) => formatCsvRow({ id: 1n, ...pet })).join('');
      const expected = pets.map(({ name, categoryId, status }) => ({
        name,
        categoryId: `${categoryId}`,
        status,
      }));
      expect(parse(text, { columns: true }) as unknown).toEqual(expected);
    });
  });
});

const anyField = fc.string({
  unit: fc.constantFrom('a', ' ', ',', ';', '\t', '"', '\n', '\r', 'é', '1'),
  maxLength: 8,
});

test.each([
  ['commas', ','],
  ['semicolons', ';'],
  ['tabs', '\t'],
])('CSV with %s and any valid quoting is parsed identically by another CSV parser', (_, separator) => {
  const quoted = fc.tuple(anyField, fc.boolean()).map(([text, isQuoted]) => ({
    text,
    csv:
      isQuoted || text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
  }));
  always(
    fc.tuple(fc.array(fc.tuple(quoted, quoted), { minLength: 1, maxLength: 8 }), anyChunk),
    ([rows, chunk]) => {
      const lines = rows.map(([name, id]) => `${name.csv}${separator}${id.csv}`);
      const text = `name${separator}categoryId\n${lines.map((line) => `${line}\n`).join('')}`;
      const records = read(new CsvReader(), Buffer.from(text), chunk);
      const expected = parse(text, {
        from_line: 2,
        relax_column_count: true,
        record_delimiter: '\n',
        delimiter: separator,
      }) as string[][];
      // Each row must become exactly one record, which contains all of the row's lines.
      expect(records.map(({ bytes }) => bytes.toString())).toEqual(lines);
      expect(expected).toEqual(rows.map(([name, id]) => [name.text, id.text]));
      for (const [index, { checked }] of records.entries()) {
        if ('pet' in checked) expect(checked.pet.name).toBe(expected[index]?.[0] as string);
      }
    },
  );
});

describe('with arbitrary bytes', () => {
  const anyBytes = fc
    .array(
      fc.oneof(
        fc.constantFrom('"', ',', '\n', '\r\n', 'A,1', '"x",1', '{', '}').map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
      ),
      { maxLength: 60 },
    )
    .map((parts) => Buffer.concat(parts));

  for (const [name, head, newReader] of [
    ['CSV', 'name,categoryId\n', () => new CsvReader()],
    ['CSV with a sep= line', 'sep=;\r\nname;categoryId\r\n', () => new CsvReader()],
    ['NDJSON', '{}\n', () => new NdjsonReader()],
  ] as const) {
    const firstLine = newReader() instanceof CsvReader ? head.split('\n').length : 1;
    test(`in ${name}, every nonblank line belongs to exactly one row, which is either accepted as an animal or rejected with a reason`, () => {
      always(fc.tuple(anyBytes, anyChunk), ([bytes, chunk]) => {
        const content = Buffer.concat([Buffer.from(head), bytes]);
        const records = read(newReader(), content, chunk);
        const lines = content.toString('latin1').split('\n');
        const covered = records.flatMap(({ line, endLine }) =>
          Array.from({ length: endLine - line + 1 }, (_, row) => line + row),
        );
        expect(covered).toEqual([...new Set(covered)].sort((a, b) => a - b));
        for (const [index, text] of lines.entries()) {
          const isRow = index + 1 >= firstLine && !/^\r?$/.test(text);
          if (isRow) expect(covered).toContain(index + 1);
        }
        for (const { checked } of records) {
          if ('pet' in checked) expect(NewPet.safeParse(checked.pet).success).toBe(true);
          else expect(checked.reason).not.toBe('');
        }
        expect(read(newReader(), content, content.length + 1)).toEqual(records);
      });
    });
  }
});
