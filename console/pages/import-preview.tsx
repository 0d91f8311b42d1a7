/** A preview of a file to import, with its size, columns, number of rows and first few rows. */
import { useEffect, useState } from 'preact/hooks';
import { bytes, counted, grouped } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { Button } from '../parts/button.tsx';
import { FailureNote } from '../parts/failure.tsx';
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
            disabled={!isReady || rows === 0}
            onClick={() => onImport(newIds)}
          >
            {rows === undefined ? 'Import' : `Import ${counted(rows, 'row')}`}
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
      {data === undefined && failure === undefined && <Waiting />}
      {data && data.rows.length > 0 && failure === undefined && (
        <>
          <Table label="First rows" columns={columns} items={data.rows} keyOf={({ line }) => line} />
          {rows !== undefined && rows > data.rows.length && (
            <p class="hint">The first {grouped(data.rows.length)} rows of the file.</p>
          )}
        </>
      )}
    </Card>
  );
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
