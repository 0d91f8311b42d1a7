import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { forEach } from '../bulk.ts';
import type { Ban } from '../contract.ts';
import { counted, duration, grouped, sentence } from '../format.ts';
import { keyOf, keyText } from '../key-text.ts';
import { useLoaded } from '../loaded.ts';
import { ChangeButton } from '../parts/button.tsx';
import { callerColumns } from '../parts/caller-columns.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { LoadState } from '../parts/failure.tsx';
import type { Ends } from '../parts/form-dialog.tsx';
import { Empty, Page } from '../parts/layout.tsx';
import { LiftBan } from '../parts/lift-ban.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { named } from '../text.ts';

const everyMs = 3_000;

export function BansPage() {
  const loaded = useLoaded('bans', () => call('GET /bans'), { everyMs });
  const { data } = loaded;
  const [isLifting, setIsLifting] = useState(false);
  return (
    <Page
      title="Bans"
      about="Keys that ignore 429 responses are banned temporarily. Each subsequent ban lasts twice as long."
      actions={
        data !== undefined &&
        data.length > 1 && (
          <ChangeButton onClick={() => setIsLifting(true)}>Lift all {grouped(data.length)} bans</ChangeButton>
        )
      }
    >
      <LoadState loaded={loaded} />
      {isLifting && data && (
        <LiftAll bans={data} onClose={() => setIsLifting(false)} onDone={loaded.reload} />
      )}
      {data?.length === 0 && <Empty>No keys are banned.</Empty>}
      {data !== undefined && data.length > 0 && (
        <Table label="Bans" columns={columnsOf(loaded.reload)} items={data} keyOf={({ keyId }) => keyId} />
      )}
    </Page>
  );
}

function columnsOf(onLifted: () => void): readonly Column<Ban>[] {
  return [
    ...callerColumns,
    { title: 'Started', show: ({ bannedFrom }) => <Time at={bannedFrom} /> },
    {
      title: 'Duration',
      show: (ban) => duration((Date.parse(ban.bannedUntil) - Date.parse(ban.bannedFrom)) / 1_000),
    },
    { title: 'Ends', show: ({ bannedUntil }) => <Time at={bannedUntil} isAhead /> },
    { title: 'Earlier bans', show: ({ level }) => (level === 0 ? 'None' : grouped(level)) },
    { title: 'Actions', kind: 'actions', show: (ban) => <LiftBan ban={ban} onLifted={onLifted} /> },
  ];
}

function LiftAll({ bans, ...ends }: Ends & { bans: readonly Ban[] }) {
  const [listed] = useState(bans);
  const lift = async () => {
    await forEach(listed, 'ban', ({ keyId }) => call('DELETE /bans/{keyId}', { params: { keyId } }));
    return `Lifted ${counted(listed.length, 'ban')}. Earlier bans no longer count.`;
  };
  return (
    <Confirm {...ends} title={`Lift ${counted(listed.length, 'ban')}?`} act="Lift bans" onConfirm={lift}>
      <ul>
        {listed.map((ban) => (
          <li key={ban.keyId}>
            {sentence(keyText(keyOf(ban)))} of {named(ban.accountName)}
          </li>
        ))}
      </ul>
      <p>Programs that ignore Retry-After will soon be banned again.</p>
    </Confirm>
  );
}
