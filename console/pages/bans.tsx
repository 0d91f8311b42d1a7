import { call } from '../api.ts';
import type { Ban } from '../contract.ts';
import { counted } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { callerColumns } from '../parts/caller-columns.tsx';
import { LoadFailure } from '../parts/failure.tsx';
import { Empty, Page, Waiting } from '../parts/layout.tsx';
import { LiftBan } from '../parts/lift-ban.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

const everyMs = 3_000;

export function BansPage() {
  const loaded = useLoaded('bans', () => call('GET /bans'), { everyMs });
  const { data, failure } = loaded;
  return (
    <Page
      title="Bans"
      about="Keys that kept sending requests after 429 are refused for a while: each time twice as long."
    >
      <LoadFailure loaded={loaded} />
      {data === undefined && failure === undefined && <Waiting />}
      {data?.length === 0 && <Empty>No key is banned now.</Empty>}
      {data !== undefined && data.length > 0 && (
        <Table label="Bans" columns={columnsOf(loaded.reload)} items={data} keyOf={({ keyId }) => keyId} />
      )}
    </Page>
  );
}

function columnsOf(onLifted: () => void): readonly Column<Ban>[] {
  return [
    ...callerColumns,
    { title: 'Ends', show: ({ bannedUntil }) => <Time at={bannedUntil} /> },
    { title: 'Before', show: ({ level }) => (level === 0 ? 'First ban' : counted(level, 'ban')) },
    { title: 'Why', show: ({ reason }) => reason },
    { title: 'Steps', kind: 'actions', show: (ban) => <LiftBan ban={ban} onLifted={onLifted} /> },
  ];
}
