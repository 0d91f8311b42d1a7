/** A preview of a file to import, with its size, columns, number of rows and first few rows. */
import { useEffect, useState } from 'preact/hooks';
import { bytes, counted, grouped } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { Button } from '../parts/button.tsx';
import { FailureNote } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Waiting } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { named } from '../text.ts';
import { type ImportPreview, previewOf, rowsIn } from '../upload.ts';

interface PreviewProps {
  readonly file: File;
  readonly onImport: (newIds: boolean) => void;
  readonly onCancel: () => void;
}

type Row = ImportPreview['rows'][number];

export function ImportPreviewCard({ file, onImport, onCancel }: PreviewProps) {
  const [newIds, setNewIds] = useState(false);
  const rows = useRowCount(file);
  const { data, failure, isStale } = useLoaded(`${newIds}`, () => previewOf(file, { newIds }));
  const shown = data?.rows ?? [];
  const rejected = shown.filter(({ reason }) => reason !== null).length;
  const isWhole = rows !== undefined && rows <= shown.length;
  const isReady = data !== undefined && failure === undefined && !isStale;
  const about = [bytes(file.size), rows === undefined ? 'counting rows …' : counted(rows, 'row')];
  if (data && data.columns.length > 0) about.push(`columns ${data.columns.map(named).join(', ')}`);
  return (
    <Card
      title={named(file.name)}
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
              ? `${grouped(rejected)} of ${counted(shown.length, 'row')} will be rejected.`
              : `${grouped(rejected)} of the first ${counted(shown.length, 'row')} will be rejected.`}
          </span>
        </p>
      )}
      {data === undefined && failure === undefined && <Waiting />}
      {shown.length > 0 && failure === undefined && (
        <>
          <Table label="First rows" columns={columns} items={shown} keyOf={({ line }) => line} />
          {rows !== undefined && !isWhole && (
            <p class="hint">The first {grouped(shown.length)} rows of the file.</p>
          )}
        </>
      )}
    </Card>
  );
}

/** The label of the import button. Rejected rows are known only if the whole file is shown. */
function importLabel(rows: number | undefined, rejected: number, isWhole: boolean): string {
  if (rows === undefined) return 'Import';
  if (isWhole) return `Import ${counted(rows - rejected, 'row')}`;
  return rejected > 0 ? 'Import valid rows' : `Import ${counted(rows, 'row')}`;
}

/** Number of rows in the file; undefined until the whole file has been read. */
function useRowCount(file: File): number | undefined {
  const [rows, setRows] = useState<number>();
  useEffect(() => {
    const stop = new AbortController();
    rowsIn(file, stop.signal).then(
      (count) => stop.signal.aborted || setRows(count),
      // If the file cannot be read, the import reports the reason.
      () => {},
    );
    return () => stop.abort();
  }, [file]);
  return rows;
}

const columns: readonly Column<Row>[] = [
  { title: 'Line', show: ({ line }) => grouped(line), kind: 'number' },
  {
    title: 'Name',
    show: ({ name, text }) =>
      name === null ? <code>{named(text ?? '')}</code> : <span class="name">{named(name)}</span>,
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
          <span class="under">{named(reason)}</span>
        </>
      ),
  },
];
