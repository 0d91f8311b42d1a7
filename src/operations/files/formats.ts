import type { importFormats } from '../../contract/admin/imports.ts';
import type { Pet } from '../../contract/representations.ts';
import { CsvReader, csvHeader, formatCsvRow } from './csv.ts';
import { formatNdjsonRow, NdjsonReader } from './ndjson.ts';
import type { ReaderOptions, RecordReader } from './records.ts';

export type FormatName = (typeof importFormats)[number];

export interface Format {
  readonly name: FormatName;
  readonly newReader: (options: ReaderOptions) => RecordReader;
  readonly header: string;
  readonly row: (pet: Pet) => string;
  readonly headerWithId: string;
  readonly withId: (id: bigint, row: string) => string;
}

export const formats: { readonly [Name in FormatName]: Format } = {
  csv: {
    name: 'csv',
    newReader: (options) => new CsvReader(options),
    header: csvHeader,
    row: formatCsvRow,
    headerWithId: `id,${csvHeader}`,
    withId: (id, row) => `${id},${row}`,
  },
  ndjson: {
    name: 'ndjson',
    newReader: (options) => new NdjsonReader(options),
    header: '',
    row: formatNdjsonRow,
    headerWithId: '',
    withId: (id, row) => `{"id":${id},${row.slice(1)}`,
  },
};
