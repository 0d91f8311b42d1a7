/** A preview of a file to import, with its size, columns, number of rows and first few rows. */
import { useEffect, useState } from 'preact/hooks';
import { bytes, formatInteger, pluralize } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { FailureNote } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, LoadingPlaceholder } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { quoteName } from '../text.ts';
import { countRows, fetchPreview, type ImportPreview } from '../upload.ts';
import { useLoaded } from '../use-loaded.ts';

interface PreviewProps {
  readonly file: File;
  readonly onImport: (newIds: boolean) => void;
  readonly onCancel: () => void;
}

type Row = ImportPreview['rows'][number];

export function ImportPreviewCard({ file, onImport, onCancel }: PreviewProps) {
  const [newIds, setNewIds] = useState(false);
  const rows = useRowCount(file);
  const { data, failure, isStale } = useLoaded(`${newIds}`, () => fetchPreview(file, { newIds }));
  const shown = data?.rows ?? [];
  const rejected = shown.filter(({ reason }) => reason !== null).length;
  const isWhole = rows !== undefined && rows <= shown.length;
  const isReady = data !== undefined && failure === undefined && !isStale;
  const about = [bytes(file.size), rows === undefined ? 'counting rows …' : pluralize(rows, 'row')];
  if (data && data.columns.length > 0) about.push(`columns ${data.columns.map(quoteName).join(', ')}`);
  return (
    <Card
      title={quoteName(file.name)}
      about={about.join(' · ')}
      actions={
        <>
          <Button onClick={onCancel}>Cancel</Button>
          <Button
            look="primary"
            icon="upload"
            disabled={!isReady || rows === 0 || (isWhole && rejected === rows)}
            onClick={() => onImport(newIds)}
          >
            {importLabel(rows, rejected, isWhole)}
          </Button>
        </>
      }
    >
      {failure && <FailureNote failure={failure} />}
      <div class="choices">
        <label>
          <input type="checkbox" checked={newIds} onChange={() => setNewIds(!newIds)} />
          <span>Ignore ids in the file and assign new ones</span>
        </label>
      </div>
      {rejected > 0 && failure === undefined && (
        <p class="message warn">
          <Icon name="warning" />
          <span>
            {isWhole
              ? `${formatInteger(rejected)} of ${pluralize(shown.length, 'row')} will be rejected.`
              : `${formatInteger(rejected)} of the first ${pluralize(shown.length, 'row')} will be rejected.`}
          </span>
        </p>
      )}
      {data === undefined && failure === undefined && <LoadingPlaceholder />}
      {shown.length > 0 && failure === undefined && (
        <>
          <Table label="First rows" columns={columns} items={shown} keyOf={({ line }) => line} />
          {rows !== undefined && !isWhole && (
            <p class="hint">The first {formatInteger(shown.length)} rows of the file.</p>
          )}
        </>
      )}
    </Card>
  );
}

/** The label of the import button. Rejected rows are known only if the whole file is shown. */
function importLabel(rows: number | undefined, rejected: number, isWhole: boolean): string {
  if (rows === undefined) return 'Import';
  if (isWhole) return `Import ${pluralize(rows - rejected, 'row')}`;
  return rejected > 0 ? 'Import valid rows' : `Import ${pluralize(rows, 'row')}`;
}

/** Number of rows in the file; undefined until the whole file has been read. */
function useRowCount(file: File): number | undefined {
  const [rows, setRows] = useState<number>();
  useEffect(() => {
    const stop = new AbortController();
    countRows(file, stop.signal).then(
      (count) => stop.signal.aborted || setRows(count),
      // If the file cannot be read, the import reports the reason.
      () => {},
    );
    return () => stop.abort();
  }, [file]);
  return rows;
}

const columns: readonly Column<Row>[] = [
  { title: 'Line', show: ({ line }) => formatInteger(line), kind: 'number' },
  {
    title: 'Name',
    show: ({ name, text }) =>
      name === null ? <code>{quoteName(text ?? '')}</code> : <span class="name">{quoteName(name)}</span>,
  },
  { title: 'Category', show: ({ categoryId }) => categoryId ?? '–', kind: 'number' },
  {
    title: 'Status',
    show: ({ status, reason }) =>
      reason === null ? (
        (status ?? '–')
      ) : (
        <>
          <span class="badge bad">Rejected</span>
          <span class="under">{quoteName(reason)}</span>
        </>
      ),
  },
];
