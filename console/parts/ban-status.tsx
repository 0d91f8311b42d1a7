import { call } from '../api.ts';
import { formatDuration, formatInteger } from '../format.ts';
import { useLoaded } from '../use-loaded.ts';
import { LoadState } from './failure.tsx';
import { Card, DefinitionList } from './layout.tsx';
import { Meter } from './meter.tsx';
import { Time } from './time.tsx';

const everyMs = 5_000;

/** Shows the strikes and bans of a key. Reloads when `changes` increases. */
export function BanStatusCard({ keyId, changes }: { keyId: number; changes: number }) {
  const load = () => call('GET /keys/{keyId}/ban-status', { params: { keyId } });
  const loaded = useLoaded(`${keyId} ${changes}`, load, { everyMs });
  const { data } = loaded;
  return (
    <Card
      title="Strikes and bans"
      about="A strike is a request sent after a 429 without waiting for Retry-After"
    >
      <LoadState loaded={loaded} />
      {data && (
        <>
          <Meter label="Strikes" used={data.strikes} limit={data.strikesToBan}>
            Each strike counts for {formatDuration(data.withinSeconds)}
          </Meter>
          <DefinitionList
            facts={[
              ['Consecutive bans', formatInteger(data.bans)],
              ['Last ban', <LastBan key="last" ban={data.lastBan} />],
              ['Next ban', `Lasts ${formatDuration(data.nextBanSeconds)}`],
            ]}
          />
        </>
      )}
    </Card>
  );
}

function LastBan({ ban }: { ban: { readonly from: string; readonly until: string } | null }) {
  if (ban === null) return <>None</>;
  const { from, until } = ban;
  const isOver = Date.parse(until) <= Date.now();
  return (
    <>
      {formatDuration((Date.parse(until) - Date.parse(from)) / 1_000)}, {isOver ? 'ended' : 'ends'}{' '}
      <Time at={until} isAhead={!isOver} />
    </>
  );
}
