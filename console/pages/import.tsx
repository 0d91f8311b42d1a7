/** Animals from a file: dropped or chosen, with how far it is, and what was not taken. */
import { useRef, useState } from 'preact/hooks';
import type { Failure } from '../api.ts';
import { save } from '../download.ts';
import { bytes, counted, grouped } from '../format.ts';
import { asFailure } from '../loaded.ts';
import { Button } from '../parts/button.tsx';
import { FailureNote } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Page } from '../parts/layout.tsx';
import { Table } from '../parts/table.tsx';
import { mayChange, viewersReason } from '../session-state.ts';
import { named } from '../text.ts';
import { formatOf, type ImportProgress, type ImportReport, importFile } from '../upload.ts';

interface Running extends ImportProgress {
  readonly file: File;
}

interface Done {
  readonly file: File;
  readonly report: ImportReport;
}

export function ImportPage() {
  const [running, setRunning] = useState<Running>();
  const [done, setDone] = useState<Done>();
  const [failure, setFailure] = useState<Failure>();
  const [newIds, setNewIds] = useState(false);
  const stop = useRef<AbortController>(undefined);
  const start = async (file: File) => {
    stop.current = new AbortController();
    setDone(undefined);
    setFailure(undefined);
    setRunning({ file, part: 0, added: undefined });
    try {
      const report = await importFile(file, {
        newIds,
        onProgress: (progress) => setRunning({ file, ...progress }),
        signal: stop.current.signal,
      });
      setDone({ file, report });
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setRunning(undefined);
    }
  };
  return (
    <Page
      title="Import animals"
      above={{ href: '#/animals', text: 'Animals' }}
      about="From a CSV file with the columns name, categoryId and, if you like, status; or from NDJSON. The service keeps serving."
    >
      {!mayChange.value && <p class="message">{viewersReason}</p>}
      {failure && <FailureNote failure={failure} />}
      {mayChange.value && running === undefined && (
        <>
          <Drop onFile={start} />
          <div class="choices">
            <label>
              <input type="checkbox" checked={newIds} onChange={() => setNewIds(!newIds)} />
              <span>The file has ids, as an export has: give its animals new ones</span>
            </label>
          </div>
        </>
      )}
      {running && <Progress {...running} onStop={() => stop.current?.abort()} />}
      {done && <Report {...done} />}
    </Page>
  );
}

function Drop({ onFile }: { onFile: (file: File) => void }) {
  const [isOver, setIsOver] = useState(false);
  const take = (files: FileList | null | undefined) => {
    setIsOver(false);
    const file = files?.[0];
    if (file !== undefined) onFile(file);
  };
  return (
    <label
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="upload" />
      <strong>Drop a file here</strong>
      <span>or choose one: .csv or .ndjson</span>
      <input
        type="file"
        accept=".csv,.ndjson,.jsonl,text/csv"
        onChange={({ currentTarget }) => take(currentTarget.files)}
      />
    </label>
  );
}

function Progress({ file, part, added, onStop }: Running & { onStop: () => void }) {
  const percent = `${Math.floor(part * 100)}%`;
  return (
    <Card title={named(file.name)} actions={<Button onClick={onStop}>Stop</Button>}>
      <progress value={part} aria-label={added === undefined ? 'Part that is sent' : 'Part that is added'} />
      <p class="about" role="status">
        {added === undefined
          ? `${percent} of ${bytes(file.size)} is sent.`
          : `${percent} is done: ${counted(added, 'animal is', 'animals are')} added so far.`}
      </p>
    </Card>
  );
}

const rejectsShown = 50;

function Report({ file, report: { state, added, rejected, rejects, rejectsFile } }: Done) {
  const name = file.name.replace(/\.\w+$/, '');
  const format = formatOf(file);
  const isOld = state === 'already_imported';
  const download = () => save(new Blob([rejectsFile]), `${name}-rejects.${format}`);
  return (
    <>
      <p class={rejected === 0 ? 'message good' : 'message warn'} role="status">
        <Icon name={rejected === 0 ? 'check' : 'warning'} />
        <span>
          {isOld && 'This file was imported before, so nothing was added now. Then, '}
          <strong>{counted(added, 'animal was', 'animals were')} added</strong>
          {rejected === 0
            ? ': every line was right.'
            : `, and ${counted(rejected, 'line was', 'lines were')} not taken.`}
        </span>
      </p>
      {rejects.length > 0 && (
        <Card
          title="Lines that were not taken"
          about="Download them, mend them there, and import that file: line and reason stand in front of each."
          actions={
            <Button look="primary" icon="download" onClick={download}>
              Download
            </Button>
          }
        >
          <Table
            label="Lines that were not taken"
            items={rejects.slice(0, rejectsShown)}
            keyOf={({ line }) => line}
            columns={[
              { title: 'Line', show: ({ line }) => grouped(line), kind: 'number' },
              { title: 'What is wrong', show: ({ reason }) => named(reason) },
              { title: 'It says', show: ({ text }) => <code>{named(text)}</code> },
            ]}
          />
          {rejected > rejectsShown && (
            <p class="hint">
              These are the first {rejectsShown}. The file has{' '}
              {rejects.length < rejected ? `the first ${grouped(rejects.length)}` : 'all'} of them.
            </p>
          )}
        </Card>
      )}
    </>
  );
}
