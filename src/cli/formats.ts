import { extname } from 'node:path';
import { type Format, type FormatName, formats } from '../operations/files/formats.ts';
import { CommandError } from './terminal.ts';

/** The format asked for, else the one the file's name says. Throws `CommandError` when neither says one. */
export function formatOf(file: string, asked: FormatName | undefined): Format {
  const name = asked ?? extname(file).slice(1).toLowerCase();
  if (name === 'csv' || name === 'ndjson') return formats[name];
  const found =
    file === '-' ? 'Standard input and output have no name' : `"${file}" does not end in .csv or .ndjson`;
  throw new CommandError(`${found}: specify --format csv or --format ndjson.`, 2);
}
