/** Rejected lines as a file that can be mended and imported: its format ignores what stands beside them. */
import type { Format, ImportReport } from './upload.ts';

type Rejects = ImportReport['rejects'];

export function rejectsFile(rejects: Rejects, format: Format): Blob {
  return new Blob([format === 'csv' ? csvOf(rejects) : ndjsonOf(rejects)], { type: 'text/plain' });
}

function csvOf(rejects: Rejects): string {
  const rows = rejects.map(({ line, reason, text }) => [text, line, quoted(reason)].join(','));
  return `${['name,categoryId,status,line,reason', ...rows].join('\r\n')}\r\n`;
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

function ndjsonOf(rejects: Rejects): string {
  return rejects.map(({ line, reason, text }) => `${JSON.stringify({ line, reason, text })}\n`).join('');
}
