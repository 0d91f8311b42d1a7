import { extname } from 'node:path';
import type { Pet } from '../contract/pets.ts';
import { CsvReader, csvHeader, csvRow } from './csv.ts';
import { NdjsonReader, ndjsonRow } from './ndjson.ts';
import type { RecordReader } from './records.ts';
import { CommandError } from './terminal.ts';

export type FormatName = 'csv' | 'ndjson';

export interface Format {
  readonly name: FormatName;
  /** The first line that can be a row. */
  readonly firstLine: 1 | 2;
  readonly newReader: () => RecordReader;
  readonly header: string;
  readonly row: (pet: Pet) => string;
}

const formats: { readonly [Name in FormatName]: Format } = {
  csv: { name: 'csv', firstLine: 2, newReader: () => new CsvReader(), header: csvHeader, row: csvRow },
  ndjson: { name: 'ndjson', firstLine: 1, newReader: () => new NdjsonReader(), header: '', row: ndjsonRow },
};

/** The format asked for, else the one the file's name says. Throws `CommandError` when neither says one. */
export function formatOf(file: string, asked: FormatName | undefined): Format {
  const name = asked ?? extname(file).slice(1).toLowerCase();
  if (name === 'csv' || name === 'ndjson') return formats[name];
  const found =
    file === '-' ? 'Standard input and output have no name' : `"${file}" does not end in .csv or .ndjson`;
  throw new CommandError(`${found}: specify --format csv or --format ndjson.`, 2);
}
