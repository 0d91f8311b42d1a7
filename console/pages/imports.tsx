/** Lists this instance's imports that are in progress or recently finished. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { save } from '../download.ts';
import { bytes, formatInteger } from '../format.ts';
import type { Label } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { Button, ChangeButton } from '../parts/button.tsx';
import { LoadState } from '../parts/failure.tsx';
import { Card, EmptyMessage } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';
import { type Import, stopImport, uploads } from '../upload.ts';
import { toFailure, useLoaded } from '../use-loaded.ts';

const idleMs = 5_000;
const activeMs = 400;

const words: Readonly<Record<Import['state'], Label>> = {
  receiving: { text: 'Uploading', tone: 'note' },
  running: { text: 'Running', tone: 'note' },
  imported: { text: 'Imported', tone: 'good' },
  already_imported: { text: 'Already imported', tone: 'quiet' },
  stopped: { text: 'Stopped', tone: 'warn' },
  failed: { text: 'Failed', tone: 'bad' },
};

export function Imports() {
  const [isActive, setIsActive] = useState(false);
  const [opened, setOpened] = useState<number>();
  const everyMs = isActive || uploads.value.length > 0 ? activeMs : idleMs;
  const load = async () => {
    const imports = await call('GET /imports');
    setIsActive(imports.some(({ endedAt }) => endedAt === null));
    return imports;
  };
  const loaded = useLoaded(`${uploads.value.length}`, load, { everyMs });
  const { data } = loaded;
  return (
    <>
      <Card
        title="Imports"
        about="Imports by all operators since this instance started. Only the latest 20 are kept."
      >
        <LoadState loaded={loaded} />
        {data?.length === 0 && <EmptyMessage>No files have been imported.</EmptyMessage>}
        {data !== undefined && data.length > 0 && (
          <Table label="Imports" columns={columnsOf(setOpened)} items={data} keyOf={({ id }) => id} />
        )}
      </Card>
      {opened !== undefined && (
        <Rejects key={opened} importId={opened} onClose={() => setOpened(undefined)} />
      )}
    </>
  );
}

function columnsOf(open: (id: number) => void): readonly Column<Import>[] {
  return [
    {
      title: 'File',
      show: ({ fileName, actor, startedAt }) => (
        <>
          <span class="name one-line" title={fileName ?? undefined}>
            {quoteName(fileName ?? 'Unnamed file')}
          </span>
          <span class="under">
            {quoteName(actor.replace(/^\w+:/, ''))} · <Time at={startedAt} />
          </span>
        </>
      ),
    },
    {
      title: 'State',
      show: ({ state, error }) => (
        <>
          <Badge word={words[state]} />
          {error !== null && <span class="under">{quoteName(error)}</span>}
        </>
      ),
    },
    { title: 'Progress', show: (each) => <Progress {...each} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (each) => (
        <>
          {each.endedAt === null && (
            <ChangeButton label={`Stop ${quoteName(each.fileName ?? 'import')}`} onClick={() => stop(each)}>
              Stop
            </ChangeButton>
          )}
          {each.endedAt !== null && each.rejected > 0 && (
            <Button
              label={`Rejected lines in ${quoteName(each.fileName ?? 'the file')}`}
              onClick={() => open(each.id)}
            >
              Rejected lines
            </Button>
          )}
        </>
      ),
    },
  ];
}

async function stop(each: Import): Promise<void> {
  await stopImport(each).catch((error: unknown) => notify(toFailure(error).message, 'bad'));
}

function Progress({ requestId, state, bytes: size, bytesRead, added, rejected }: Import) {
  const upload = uploads.value.find((each) => each.requestId === requestId);
  if (state === 'receiving') {
    if (upload === undefined) return <>{bytes(size)} received</>;
    return (
      <>
        <progress value={upload.sent} aria-label="Uploaded" />
        <span class="under">
          {Math.floor(upload.sent * 100)}% of {bytes(upload.file.size)}
        </span>
      </>
    );
  }
  const counts = `${formatInteger(added)} added, ${formatInteger(rejected)} rejected`;
  if (state === 'failed' && added + rejected === 0) return <>–</>;
  if (state !== 'running') return <>{counts}</>;
  const part = size === 0 ? 1 : bytesRead / size;
  return (
    <>
      <progress value={part} aria-label="Read" />
      <span class="under">
        {Math.floor(part * 100)}% · {counts}
      </span>
    </>
  );
}

const rejectsShown = 50;

function Rejects({ importId, onClose }: { importId: number; onClose: () => void }) {
  const loaded = useLoaded(`${importId}`, () => call('GET /imports/{importId}', { params: { importId } }));
  const { data } = loaded;
  const report = data?.report;
  const name = data?.fileName ?? 'import';
  const download = () =>
    report && save(new Blob([report.rejectsFile]), `${name.replace(/\.\w+$/, '')}-rejects.${data?.format}`);
  return (
    <Card
      title={`Rejected lines in ${quoteName(name)}`}
      about="Download the lines, correct them, and import the corrected file. Each line starts with its line number and the reason for the rejection."
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look="primary" icon="download" disabled={!report} onClick={download}>
            Download
          </Button>
        </>
      }
    >
      <LoadState loaded={loaded} />
      {data?.report === null && (
        <EmptyMessage>
          The rejected lines are no longer available. Import the file again to list them.
        </EmptyMessage>
      )}
      {report && (
        <>
          <Table
            label="Rejected lines"
            items={report.rejects.slice(0, rejectsShown)}
            keyOf={({ line }) => line}
            columns={[
              { title: 'Line', show: ({ line }) => formatInteger(line), kind: 'number' },
              { title: 'Reason', show: ({ reason }) => quoteName(reason) },
              { title: 'Content', show: ({ text }) => <code>{quoteName(text)}</code> },
            ]}
          />
          {report.rejected > rejectsShown && (
            <p class="hint">
              Showing the first {rejectsShown}. The download contains{' '}
              {report.rejects.length < report.rejected
                ? `the first ${formatInteger(report.rejects.length)}`
                : 'all'}
              .
            </p>
          )}
        </>
      )}
    </Card>
  );
}
