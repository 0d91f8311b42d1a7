import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Ban } from '../contract.ts';
import { forEach } from '../for-each.ts';
import { capitalize, formatDuration, formatInteger, pluralize } from '../format.ts';
import { keyLabel, toKey } from '../key-label.ts';
import { ChangeButton } from '../parts/button.tsx';
import { callerColumns } from '../parts/caller-columns.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { LoadState } from '../parts/failure.tsx';
import type { DialogCallbacks } from '../parts/form-dialog.tsx';
import { EmptyMessage, Page } from '../parts/layout.tsx';
import { LiftBan } from '../parts/lift-ban.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

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
          <ChangeButton onClick={() => setIsLifting(true)}>
            Lift all {formatInteger(data.length)} bans
          </ChangeButton>
        )
      }
    >
      <LoadState loaded={loaded} />
      {isLifting && data && (
        <LiftAll bans={data} onClose={() => setIsLifting(false)} onDone={loaded.reload} />
      )}
      {data?.length === 0 && <EmptyMessage>No keys are banned.</EmptyMessage>}
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
      show: (ban) => formatDuration((Date.parse(ban.bannedUntil) - Date.parse(ban.bannedFrom)) / 1_000),
    },
    { title: 'Ends', show: ({ bannedUntil }) => <Time at={bannedUntil} isAhead /> },
    { title: 'Earlier bans', show: ({ level }) => (level === 0 ? 'None' : formatInteger(level)) },
    { title: 'Actions', kind: 'actions', show: (ban) => <LiftBan ban={ban} onLifted={onLifted} /> },
  ];
}

function LiftAll({ bans, ...ends }: DialogCallbacks & { bans: readonly Ban[] }) {
  const [listed] = useState(bans);
  const lift = async () => {
    await forEach(listed, 'ban', ({ keyId }) => call('DELETE /bans/{keyId}', { params: { keyId } }));
    return `Lifted ${pluralize(listed.length, 'ban')}. Earlier bans no longer count.`;
  };
  return (
    <Confirm {...ends} title={`Lift ${pluralize(listed.length, 'ban')}?`} act="Lift bans" onConfirm={lift}>
      <ul>
        {listed.map((ban) => (
          <li key={ban.keyId}>
            {capitalize(keyLabel(toKey(ban)))} of {quoteName(ban.accountName)}
          </li>
        ))}
      </ul>
      <p>Programs that ignore Retry-After will soon be banned again.</p>
    </Confirm>
  );
}
