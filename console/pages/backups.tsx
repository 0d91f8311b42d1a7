/** Backups: those there are, a new one, and whether one is sound. */
import { useState } from 'preact/hooks';
import { call, type Failure } from '../api.ts';
import type { AnswerOf } from '../contract.ts';
import { bytes, duration, grouped } from '../format.ts';
import { asFailure, useLoaded } from '../loaded.ts';
import { Button, ChangeButton } from '../parts/button.tsx';
import { FailureNote, LoadFailure } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Empty, Waiting } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { spaced } from '../words.ts';

type State = AnswerOf<'GET /backups'>;
type Backup = State['backups'][number];
type Verification = AnswerOf<'POST /backups/verify'>;

const idleMs = 5_000;
const runningMs = 300;

export function Backups() {
  const [isMaking, setIsMaking] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const loaded = useLoaded('backups', () => call('GET /backups'), { everyMs: isMaking ? runningMs : idleMs });
  const { data } = loaded;
  const make = async () => {
    setFailure(undefined);
    setIsMaking(true);
    try {
      const { name } = await call('POST /backups');
      notify(`Backup ${name} is made.`);
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setIsMaking(false);
    }
  };
  const noFolder =
    data?.folder === null ? 'Set BACKUP_FOLDER and start the service again to make backups here.' : undefined;
  return (
    <Card
      title="Backups"
      about={data && aboutOf(data)}
      actions={
        <ChangeButton look="primary" isBusy={isMaking} reason={noFolder} onClick={make}>
          Make backup
        </ChangeButton>
      }
    >
      <LoadFailure loaded={loaded} />
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
      {data === undefined ? (
        loaded.failure === undefined && <Waiting />
      ) : (
        <List state={data} onFailure={setFailure} />
      )}
    </Card>
  );
}

function aboutOf({ folder, everySeconds, keep }: State): string {
  if (folder === null) return 'No folder for backups is set';
  const when = everySeconds === null ? 'made on request' : `one every ${duration(everySeconds)}`;
  return `In ${folder}: ${when}, the last ${grouped(keep)} are kept`;
}

function Progress({ done, total }: NonNullable<State['running']>) {
  return (
    <div>
      <progress value={done} max={Math.max(total, 1)} aria-label="Part of the backup that is written" />
      <p class="about">
        {bytes(done)} of {bytes(total)} are written. The service keeps serving.
      </p>
    </div>
  );
}

function List({
  state: { folder, backups },
  onFailure,
}: {
  state: State;
  onFailure: (failure?: Failure) => void;
}) {
  const [sound, setSound] = useState<ReadonlyMap<string, Verification>>(new Map());
  const [verifying, setVerifying] = useState<string>();
  const verify = async (name: string) => {
    onFailure(undefined);
    setVerifying(name);
    try {
      const verification = await call('POST /backups/verify', { body: { name } });
      setSound(new Map([...sound, [name, verification]]));
    } catch (error) {
      onFailure(asFailure(error));
    } finally {
      setVerifying(undefined);
    }
  };
  if (backups.length === 0) {
    const advice =
      folder === null
        ? 'Set BACKUP_FOLDER to where they go; PostgreSQL is backed up with its own tools.'
        : 'There is none yet.';
    return <Empty>{advice}</Empty>;
  }
  const columns: readonly Column<Backup>[] = [
    { title: 'Made', show: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'File', show: ({ name }) => <code>{name}</code> },
    { title: 'Size', show: ({ bytes: size }) => bytes(size), kind: 'number' },
    { title: 'Checked', show: ({ name }) => <Soundness of={sound.get(name)} /> },
    {
      title: 'Steps',
      kind: 'actions',
      show: ({ name }) => (
        <Button label={`Verify ${name}`} isBusy={verifying === name} onClick={() => verify(name)}>
          {verifying === name ? 'Verifying …' : 'Verify'}
        </Button>
      ),
    },
  ];
  return <Table label="Backups" columns={columns} items={backups} keyOf={({ name }) => name} />;
}

function Soundness({ of: verification }: { of: Verification | undefined }) {
  if (verification === undefined) return <span class="about">Not now</span>;
  const counts = Object.entries(verification.counts).map(
    ([table, rows]) => `${grouped(rows)} ${spaced(table).toLowerCase()}`,
  );
  return (
    <>
      <span class="badge good">Sound</span>
      <span class="under">{counts.join(', ')}</span>
    </>
  );
}
