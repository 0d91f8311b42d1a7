/** Current use of an account's rate limits. */
import type { ComponentChildren } from 'preact';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { useLoaded } from '../use-loaded.ts';
import { LoadState } from './failure.tsx';
import { Card } from './layout.tsx';
import { Meter } from './meter.tsx';
import { Time } from './time.tsx';

const everyMs = 2_000;

type RateWindow = ResponseOf<'GET /accounts/{accountId}/limits'>['minute'];

interface LimitsCardProps {
  readonly accountId: number;
  /** The limits are reloaded when this number increases. */
  readonly changes: number;
  readonly title?: string;
  readonly about?: ComponentChildren;
}

export function LimitsCard(props: LimitsCardProps) {
  const { accountId, changes, title = 'Rate limits', about = 'Shared by all keys of the account' } = props;
  const load = () => call('GET /accounts/{accountId}/limits', { params: { accountId } });
  const loaded = useLoaded(`${accountId} ${changes}`, load, { everyMs });
  const { data } = loaded;
  return (
    <Card title={title} about={about}>
      <LoadState loaded={loaded} />
      {data && (
        <>
          <WindowMeter label="Per minute" window={data.minute} />
          <WindowMeter label="Per day" window={data.day} />
        </>
      )}
    </Card>
  );
}

function WindowMeter({ label, window: { used, limit, resetAt } }: { label: string; window: RateWindow }) {
  return (
    <Meter {...{ label, used, limit }}>
      {resetAt === null ? (
        'No requests in this window yet'
      ) : (
        <>
          Resets <Time at={resetAt} isAhead />
        </>
      )}
    </Meter>
  );
}
