import type { ImportPreview } from '../../contract/admin/imports.ts';
import { maxPreviewBytes } from '../../contract/bounds.ts';
import { Refusal } from '../../contract/refusal.ts';
import type { Format } from '../files/formats.ts';
import { Rows } from '../files/rows.ts';
import { replacedText } from './run.ts';

/** More rows than fit on a page. Short lines would otherwise result in a response of 5 MB. */
const maxRows = 1_000;

/** The first rows of a file, parsed as they would be in an import. Throws `import_invalid` and `body_too_large`. */
export async function previewOf(
  format: Format,
  newIds: boolean,
  upload: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<ImportPreview> {
  const bytes = await bytesOf(upload);
  async function* read() {
    yield bytes;
  }
  const reader = format.newReader({ newIds });
  const rows: ImportPreview['rows'] = [];
  for await (const group of new Rows({ input: { name: 'The file', read }, reader, signal })) {
    if (rows.length >= maxRows) break;
    for (const row of group.slice(0, maxRows - rows.length)) {
      if ('pet' in row) {
        const { name, categoryId, status } = row.pet;
        rows.push({ line: row.line, name, categoryId: String(categoryId), status, reason: null, text: null });
      } else {
        const text = replacedText(row.bytes);
        rows.push({ line: row.line, name: null, categoryId: null, status: null, reason: row.reason, text });
      }
    }
  }
  return { columns: [...reader.columns], rows };
}

async function bytesOf(upload: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of upload) {
    length += chunk.length;
    if (length > maxPreviewBytes) {
      const message = `A preview reads at most ${maxPreviewBytes} bytes. Send the beginning of the file.`;
      throw new Refusal('body_too_large', { message });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
