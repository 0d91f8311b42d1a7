/** CSV according to RFC 4180, in UTF-8 with a header row. Input may have semicolons or tabs instead of commas. */
import { NotInt64, parseInt64 } from '../../contract/json.ts';
import type { Pet } from '../../contract/representations.ts';
import {
  type CheckedPet,
  checkPet,
  decodeText,
  expectText,
  type InputRecord,
  idColumnHint,
  invalidFileError,
  joinLines,
  type Line,
  maxRowBytes,
  type ReaderOptions,
  type RecordReader,
  toRecord,
} from './records.ts';

const columns = ['name', 'categoryId', 'status'] as const;
type Column = (typeof columns)[number];

const quote = 34;
const byteOrderMark = /^\ufeff/;

/** A first line that specifies the separator for Excel. */
const separatorLine = /^"?sep=([,;\t])"?$/i;
const firstSeparator = /^(?:"[^"]*"|[^",;\t])*([,;\t])/;

interface Syntax {
  readonly separator: string;
  readonly field: RegExp;
  /** Matches the line number and reason at the beginning of a row in a file of rejected rows. */
  readonly rejectPrefix: RegExp;
}

function createSyntax(separator: string): Syntax {
  const [quoted, plain] = ['[^"]*(?:""[^"]*)*', `[^"${separator}]*`];
  return {
    separator,
    field: new RegExp(`(?:"(${quoted})"|(${plain}))(${separator}|$)`, 'y'),
    rejectPrefix: new RegExp(`^(?:(?:"${quoted}"|${plain})${separator}){2}`),
  };
}

/** The fields of a record; undefined if its quotes are misplaced. */
function parseFields(record: string, { separator, field }: Syntax): string[] | undefined {
  if (!record.includes('"')) return record.split(separator);
  const fields: string[] = [];
  field.lastIndex = 0;
  for (;;) {
    const match = field.exec(record);
    if (match === null) return undefined;
    const [, quoted, plain = '', delimiter] = match;
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (delimiter === '') return fields;
  }
}

function hasOddQuotes(bytes: Buffer): boolean {
  let odd = false;
  for (let at = bytes.indexOf(quote); at !== -1; at = bytes.indexOf(quote, at + 1)) odd = !odd;
  return odd;
}

const rejectColumns = ['line', 'reason'];
const knownColumns = [...columns, 'id', ...rejectColumns];

function normalizeColumn(name: string): string {
  const trimmed = name.trim();
  return knownColumns.find((column) => column.toLowerCase() === trimmed.toLowerCase()) ?? trimmed;
}

/**
 * Spreadsheets may write 1 as 1.0 or 1.00, but 1.000 may be a thousand. They round numbers that they write with an
 * exponent, so those are rejected.
 */
function parseSpreadsheetInteger(text: string): bigint | NotInt64 {
  return parseInt64(text.replace(/\.00?$/, '')) ?? new NotInt64(text);
}

/**
 * Reads CSV records. A record spans several lines while a quote is open. If the quote is never closed, only the first
 * line is rejected.
 */
export class CsvReader implements RecordReader {
  firstLine = 2;
  #syntax = createSyntax(',');
  #separatorLine = '';
  #header: string | undefined;
  #columns: readonly string[] = [];
  #positions: readonly number[] = [];
  /** Whether the rows start with a line number and a reason, as in a file of rejected rows. */
  #hasReasons = false;
  #open: Line[] = [];
  #openBytes = 0;
  readonly #newIds: boolean;

  constructor({ newIds }: ReaderOptions = { newIds: false }) {
    this.#newIds = newIds;
  }

  get columns(): readonly string[] {
    return this.#columns;
  }

  take(line: Line): InputRecord[] {
    if (this.#header === undefined) {
      this.#readHeader(line);
      return [];
    }
    const odd = hasOddQuotes(line.bytes);
    if (this.#open.length === 0 && !odd) return this.#whole([line]);
    this.#open.push(line);
    this.#openBytes += line.bytes.length + 1;
    if (this.#openBytes > maxRowBytes) return this.#giveUp();
    if (!odd || this.#open.length === 1) return [];
    const lines = this.#open;
    const record = decodeText(joinLines(lines));
    if ('text' in record && this.#fieldsOf(record.text) === undefined) return this.#giveUp();
    this.#close();
    return this.#whole(lines);
  }

  end(): InputRecord[] {
    if (this.#header === undefined) {
      throw invalidFileError(
        `The input is empty. A CSV file must start with a header row: ${columns.join(',')}.`,
      );
    }
    const records: InputRecord[] = [];
    while (this.#open.length > 0) records.push(...this.#giveUp());
    return records;
  }

  check(record: InputRecord): CheckedPet {
    const read = decodeText(record);
    if ('reason' in read) return read;
    const fields = this.#fieldsOf(read.text);
    if (fields === undefined) {
      return {
        reason: 'has a misplaced quote: enclose the whole field in quotes, and double any quote inside it',
      };
    }
    if (fields.length !== this.#columns.length) {
      return {
        reason: `has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}, but the header has ${this.#columns.length}`,
      };
    }
    const [name, categoryId = '', status = ''] = this.#positions.map((position) => fields[position]);
    return checkPet({
      name,
      categoryId: categoryId === '' ? undefined : parseSpreadsheetInteger(categoryId),
      status: status === '' ? undefined : status,
    });
  }

  rejectsHeader(): string {
    if (this.#header === undefined) return '';
    return `${this.#separatorLine}${[...rejectColumns, this.#header].join(this.#syntax.separator)}\n`;
  }

  rejected(line: number, reason: string, bytes: Uint8Array): Uint8Array {
    const { separator } = this.#syntax;
    const prefix = `${line}${separator}${formatField(reason, separator)}${separator}`;
    return Buffer.concat([Buffer.from(prefix), bytes, Buffer.from('\n')]);
  }

  #fieldsOf(record: string): string[] | undefined {
    const fields = parseFields(record, this.#syntax);
    const missing = this.#columns.length - (fields?.length ?? 0);
    // Spreadsheets fill rows up to the length of the longest one, or omit the empty cells at the end of several rows.
    while (fields && fields.length > this.#columns.length && fields.at(-1) === '') fields.pop();
    return missing > 0 ? fields?.concat(Array<string>(missing).fill('')) : fields;
  }

  #readHeader(line: Line): void {
    expectText(line);
    const read = decodeText(toRecord(line));
    const text = 'text' in read ? read.text.replace(byteOrderMark, '') : '';
    const [, specified] = (line.number === 1 && separatorLine.exec(text)) || [];
    if (specified !== undefined) {
      this.#syntax = createSyntax(specified);
      this.#separatorLine = `${text}\n`;
      return;
    }
    if (this.#separatorLine === '') this.#syntax = createSyntax(firstSeparator.exec(text)?.[1] ?? ',');
    this.firstLine = line.number + 1;
    const names = (this.#fieldsOf(text) ?? []).map(normalizeColumn);
    this.#hasReasons = rejectColumns.every((column, position) => names[position] === column);
    this.#header = this.#hasReasons ? text.replace(this.#syntax.rejectPrefix, '') : text;
    this.#columns = this.#hasReasons ? names.slice(rejectColumns.length) : names;
    this.#positions = columns.map((column) => this.#columns.indexOf(column));
    const mistakes = checkHeader(this.#columns, this.#newIds);
    if (mistakes.length > 0) {
      throw invalidFileError(
        `The first line must be a header row with the columns ${columns.join(', ')}, in any order: ${mistakes.join('; ')}.`,
      );
    }
  }

  #whole(lines: readonly Line[]): InputRecord[] {
    const [first] = lines;
    const record = lines.length === 1 && first !== undefined ? toRecord(first) : joinLines(lines);
    if (record.bytes.length === 0) return [];
    if (!this.#hasReasons) return [record];
    // Latin-1 maps every byte to one character, so the length in characters equals the length in bytes.
    const prefix = this.#syntax.rejectPrefix.exec(record.bytes.toString('latin1'))?.[0] ?? '';
    return [{ ...record, bytes: record.bytes.subarray(prefix.length) }];
  }

  #giveUp(): InputRecord[] {
    const [first, ...later] = this.#open;
    this.#close();
    if (first === undefined) return [];
    return [...this.#whole([first]), ...later.flatMap((line) => this.take(line))];
  }

  #close(): void {
    this.#open = [];
    this.#openBytes = 0;
  }
}

function checkHeader(found: readonly string[], newIds: boolean): string[] {
  const named = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(', ');
  const missing = columns.filter((column) => column !== 'status' && !found.includes(column));
  const unknown = found.filter((name) => name !== 'id' && !columns.includes(name as Column));
  const duplicates = [...columns, 'id'].filter(
    (column) => found.indexOf(column) !== found.lastIndexOf(column),
  );
  return [
    ...(missing.length > 0
      ? [`missing ${missing.length === 1 ? 'column' : 'columns'} ${named(missing)}`]
      : []),
    ...(found.includes('id') && !newIds ? [`"id" ${idColumnHint}`] : []),
    ...(unknown.length > 0 ? [`unknown column ${named(unknown)}`] : []),
    ...(duplicates.length > 0 ? [`${named(duplicates)} is repeated`] : []),
  ];
}

export const csvHeader = `${columns.join(',')}\n`;

export function formatCsvRow({ name, categoryId, status }: Pet): string {
  return `${formatField(name)},${categoryId},${status}\n`;
}

/** Characters that make a spreadsheet treat a cell as a formula (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r]/;

/** An animal as a CSV row for a spreadsheet. An apostrophe prevents the name from being evaluated as a formula. */
export function formatSpreadsheetRow(pet: Pet): string {
  return formatCsvRow(formula.test(pet.name) ? { ...pet, name: `'${pet.name}` } : pet);
}

function formatField(text: string, separator = ','): string {
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
