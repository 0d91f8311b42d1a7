/** Exports filtered lists as files. */
import { callPage } from './api.ts';
import type { InputOf, ListRoute } from './contract.ts';
import { formatCsv, type Row } from './csv.ts';
import { save } from './download.ts';
import { stringifyJson } from './json.ts';

export type ExportFormat = 'csv' | 'json';

/** Maximum number of rows in an export. */
export const maxExportedRows = 10_000;
const rowsPerPage = 100;

export interface ExportedList<Name extends ListRoute = ListRoute> {
  readonly route: Name;
  readonly query: InputOf<Name>['query'];
  /** File name without its extension. */
  readonly name: string;
}

/**
 * Saves all rows that match the filters, up to `maxExportedRows`. Returns the number of saved rows and whether
 * there are more. Throws a `Failure`.
 */
export async function exportList(
  { route, query, name }: ExportedList,
  format: ExportFormat,
): Promise<{ readonly rows: number; readonly hasMore: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await callPage(route as 'GET /accounts', {
      query: { ...(query as InputOf<'GET /accounts'>['query']), limit: rowsPerPage, cursor },
    });
    rows.push(...(page.items as readonly unknown[] as readonly Row[]));
    cursor = page.next;
  } while (cursor !== undefined && rows.length < maxExportedRows);
  const [type, text] =
    format === 'csv' ? ['text/csv', formatCsv(rows)] : ['application/json', `${stringifyJson(rows)}\n`];
  save(new Blob([text], { type }), `${name}.${format}`);
  return { rows: rows.length, hasMore: cursor !== undefined };
}
