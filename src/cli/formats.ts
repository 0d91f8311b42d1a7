import { extname } from 'node:path';
import type { Pet } from '../contract/pets.ts';
import { CsvReader, csvHeader, csvRow } from './csv.ts';
import { NdjsonReader, ndjsonRow } from './ndjson.ts';
import type { ReaderOptions, RecordReader } from './records.ts';
import { CommandError } from './terminal.ts';

export type FormatName = 'csv' | 'ndjson';

export interface Format {
  readonly name: FormatName;
  /** The first line that can be a row. */
  readonly firstLine: 1 | 2;
  readonly newReader: (options: ReaderOptions) => RecordReader;
  readonly header: string;
  readonly row: (pet: Pet) => string;
  /** The same with ids. */
  readonly headerWithId: string;
  readonly withId: (id: bigint, row: string) => string;
}

const formats: { readonly [Name in FormatName]: Format } = {
  csv: {
    name: 'csv',
    firstLine: 2,
    newReader: (options) => new CsvReader(options),
    header: csvHeader,
    row: csvRow,
    headerWithId: `id,${csvHeader}`,
    withId: (id, row) => `${id},${row}`,
  },
  ndjson: {
    name: 'ndjson',
    firstLine: 1,
    newReader: (options) => new NdjsonReader(options),
    header: '',
    row: ndjsonRow,
    headerWithId: '',
    withId: (id, row) => `{"id":${id},${row.slice(1)}`,
  },
};

/** The format asked for, else the one the file's name says. Throws `CommandError` when neither says one. */
export function formatOf(file: string, asked: FormatName | undefined): Format {
  const name = asked ?? extname(file).slice(1).toLowerCase();
  if (name === 'csv' || name === 'ndjson') return formats[name];
  const found =
    file === '-' ? 'Standard input and output have no name' : `"${file}" does not end in .csv or .ndjson`;
  throw new CommandError(`${found}: specify --format csv or --format ndjson.`, 2);
}
