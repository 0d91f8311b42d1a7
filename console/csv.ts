import { stringifyJson } from './json.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Formats rows as CSV (RFC 4180), with a column for each field. */
export function formatCsv(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => formatCell(row[column])))];
  return lines.map((cells) => `${cells.map(quoteCell).join(',')}\r\n`).join('');
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return Array.isArray(value) ? value.join(' ') : stringifyJson(value);
  if (typeof value !== 'string') return String(value);
  // Prefixes values that spreadsheets would interpret as formulas.
  return /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

const quoteCell = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
