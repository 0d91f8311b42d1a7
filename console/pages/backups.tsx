/** Creates, lists, verifies and downloads backups. */
import { useState } from 'preact/hooks';
import { call, type Failure } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { download } from '../download.ts';
import { bytes, formatDuration, formatInteger, pluralize } from '../format.ts';
import { Badge } from '../parts/badge.tsx';
import { Button, ChangeButton } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { FailureNote, LoadState } from '../parts/failure.tsx';
import { Form, TextField } from '../parts/form.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, EmptyMessage } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';
import { toFailure, useLoaded } from '../use-loaded.ts';

type State = ResponseOf<'GET /backups'>;
type Backup = State['backups'][number];

const idleMs = 5_000;
const runningMs = 300;

export function Backups() {
  const [isMaking, setIsMaking] = useState(false);
  const [isAsking, setIsAsking] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const loaded = useLoaded('backups', () => call('GET /backups'), { everyMs: isMaking ? runningMs : idleMs });
  const { data } = loaded;
  const make = async (label: string) => {
    setFailure(undefined);
    setIsMaking(true);
    try {
      const { name } = await call('POST /backups', { body: label === '' ? {} : { label } });
      notify(`Created ${name}.`);
      loaded.reload();
    } catch (error) {
      setFailure(toFailure(error));
    } finally {
      setIsMaking(false);
    }
  };
  const noFolder =
    data?.folder === null ? 'Set BACKUP_FOLDER and restart the service to create backups here.' : undefined;
  return (
    <Card
      title="Backups"
      about={data && describeSchedule(data)}
      actions={
        <ChangeButton look="primary" isBusy={isMaking} reason={noFolder} onClick={() => setIsAsking(true)}>
          Create backup
        </ChangeButton>
      }
    >
      <LoadState loaded={loaded} />
      {failure && <FailureNote failure={failure} />}
      {data?.lastError && (
        <p class="message bad">
          <Icon name="warning" />
          <span>
            <strong>The last backup failed.</strong> {data.lastError}
          </span>
        </p>
      )}
      {data?.running && <Progress {...data.running} />}
      {data && <List state={data} onFailure={setFailure} onVerified={loaded.reload} />}
      {isAsking && <CreateBackup onClose={() => setIsAsking(false)} onCreate={make} />}
    </Card>
  );
}

function describeSchedule({ folder, everySeconds, keep }: State): string {
  if (folder === null) return 'BACKUP_FOLDER is not set';
  if (everySeconds === null) return `In ${folder} · created manually`;
  return `In ${folder} · every ${formatDuration(everySeconds)}, keeps the latest ${formatInteger(keep)} scheduled backups`;
}

function Progress({ done, total }: NonNullable<State['running']>) {
  return (
    <div>
      <progress value={done} max={Math.max(total, 1)} aria-label="Backup written" />
      <p class="about">
        {bytes(done)} of {bytes(total)} written. The service stays available.
      </p>
    </div>
  );
}

interface ListProps {
  readonly state: State;
  readonly onFailure: (failure?: Failure) => void;
  readonly onVerified: () => void;
}

function List({ state: { folder, backups }, onFailure, onVerified }: ListProps) {
  const [downloading, setDownloading] = useState<string>();
  const [verifying, setVerifying] = useState<string>();
  const verify = async (name: string) => {
    onFailure(undefined);
    setVerifying(name);
    try {
      await call('POST /backups/verify', { body: { name } });
    } catch (error) {
      onFailure(toFailure(error));
    } finally {
      setVerifying(undefined);
      onVerified();
    }
  };
  const save = async (name: string) => {
    onFailure(undefined);
    setDownloading(name);
    try {
      await download('/backups/download', name, { query: { name } });
    } catch (error) {
      onFailure(toFailure(error));
    } finally {
      setDownloading(undefined);
    }
  };
  if (backups.length === 0) {
    const advice =
      folder === null
        ? 'Set BACKUP_FOLDER to create backups. Back up PostgreSQL with its own tools.'
        : 'There are no backups yet.';
    return <EmptyMessage>{advice}</EmptyMessage>;
  }
  const actions = ({ name }: Backup) => (
    <>
      <Button label={`Verify ${name}`} isBusy={verifying === name} onClick={() => verify(name)}>
        {verifying === name ? 'Verifying …' : 'Verify'}
      </Button>
      <ChangeButton label={`Download ${name}`} isBusy={downloading === name} onClick={() => save(name)}>
        Download
      </ChangeButton>
    </>
  );
  const columns = [...facts, { title: 'Actions', kind: 'actions', show: actions } as const];
  return <Table label="Backups" columns={columns} items={backups} keyOf={({ name }) => name} />;
}

const facts: readonly Column<Backup>[] = [
  {
    title: 'Backup',
    show: ({ name, label, createdAt }) => (
      <>
        <span class="name">
          <Time at={createdAt} />
        </span>
        <span class="under">{label === null ? 'Scheduled' : `Created manually · ${label}`}</span>
        <code class="under long">{name}</code>
      </>
    ),
  },
  { title: 'Size', show: ({ bytes: size }) => bytes(size), kind: 'number' },
  { title: 'Last verification', show: ({ lastVerification }) => <Soundness of={lastVerification} /> },
];

function Soundness({ of: result }: { of: Backup['lastVerification'] }) {
  if (result === null) return <span class="about">Not verified</span>;
  const { at, isSound, message, counts } = result;
  const rows = Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);
  return (
    <>
      <Badge word={isSound ? { text: 'Intact', tone: 'good' } : { text: 'Damaged', tone: 'bad' }} />
      <span class="under">
        <Time at={at} />
      </span>
      <span class="under">{message === null ? pluralize(rows, 'row') : quoteName(message)}</span>
    </>
  );
}

interface CreateProps {
  readonly onClose: () => void;
  readonly onCreate: (label: string) => void;
}

/** The dialog closes immediately, because the page shows the progress. */
function CreateBackup({ onClose, onCreate }: CreateProps) {
  const [label, setLabel] = useState('');
  const create = async () => {
    onClose();
    onCreate(label.trim());
  };
  return (
    <Dialog title="Create backup" onClose={onClose}>
      <Form submit="Create backup" onSubmit={create} onCancel={onClose}>
        {(failure) => (
          <TextField
            label="Label (optional)"
            name="label"
            value={label}
            onInput={setLabel}
            failure={failure}
            placeholder="before-upgrade"
            hint="Letters, digits, dots, hyphens and underscores. Manual backups are never deleted automatically."
          />
        )}
      </Form>
    </Dialog>
  );
}
