/** Used rate limits of an account. */
import type { ComponentChildren } from 'preact';
import { call } from '../api.ts';
import { useLoaded } from '../loaded.ts';
import { LoadFailure } from './failure.tsx';
import { Card, Waiting } from './layout.tsx';
import { Meter } from './meter.tsx';

const everyMs = 2_000;

interface LimitsCardProps {
  readonly accountId: number;
  /** Counts the reasons to read again. */
  readonly changes: number;
  readonly title?: string;
  readonly about?: ComponentChildren;
}

export function LimitsCard(props: LimitsCardProps) {
  const {
    accountId,
    changes,
    title = 'Limits now',
    about = 'Used by all keys of the account together',
  } = props;
  const load = () => call('GET /accounts/{accountId}/limits', { params: { accountId } });
  const loaded = useLoaded(`${accountId} ${changes}`, load, { everyMs });
  const { data } = loaded;
  return (
    <Card title={title} about={about}>
      <LoadFailure loaded={loaded} />
      {data === undefined ? (
        <Waiting />
      ) : (
        <>
          <Meter label="This minute" {...data.minute} />
          <Meter label="This day" {...data.day} />
        </>
      )}
    </Card>
  );
}
