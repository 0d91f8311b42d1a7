/** Recent failed requests, which the service keeps in memory. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { pluralize } from '../format.ts';
import { buildHref } from '../router.ts';
import { quoteName } from '../text.ts';
import { formatShortDateTimeWithSeconds } from '../time-labels.ts';
import { useLoaded } from '../use-loaded.ts';
import { Button } from './button.tsx';
import { LoadState } from './failure.tsx';
import { Card, EmptyMessage } from './layout.tsx';
import { OperationName } from './operation-name.tsx';
import { type Column, Table } from './table.tsx';

type FailedRequest = ResponseOf<'GET /usage/failed-requests'>[number];

interface FailedRequestsProps {
  readonly keyId?: string;
  readonly operation?: string;
  readonly code?: string;
  readonly requestId?: string;
}

const everyMs = 10_000;
const shownFirst = 8;

export function FailedRequests({ keyId, operation = '', code = '', requestId = '' }: FailedRequestsProps) {
  const load = () => call('GET /usage/failed-requests', { query: { keyId, requestId, limit: '100' } });
  const loaded = useLoaded(`${keyId} ${requestId}`, load, { everyMs });
  const isWanted = (one: FailedRequest) =>
    (operation === '' || one.operation === operation) && (code === '' || one.code === code);
  const requests = loaded.data?.filter(isWanted);
  const [isWhole, setIsWhole] = useState(false);
  return (
    <Card
      title={requestId === '' ? 'Recent failed requests' : `Request ${quoteName(requestId)}`}
      about={
        requestId === '' &&
        'The last 25 per key since this instance started. To log all failed requests, set LOG_REQUESTS=errors.'
      }
      actions={requestId !== '' && <a href={buildHref('/usage')}>All failed requests</a>}
    >
      <LoadState loaded={loaded} />
      {requests?.length === 0 && <EmptyMessage>No recent failed requests.</EmptyMessage>}
      {requests && requests.length > 0 && (
        <Table
          label="Recent failed requests"
          columns={keyId === undefined ? [...columns, keyColumn] : columns}
          items={isWhole ? requests : requests.slice(0, shownFirst)}
          keyOf={({ at, requestId }) => `${at} ${requestId}`}
        />
      )}
      {!isWhole && requests && requests.length > shownFirst && (
        <p>
          <Button onClick={() => setIsWhole(true)}>Show all {pluralize(requests.length, 'request')}</Button>
        </p>
      )}
    </Card>
  );
}

const columns: readonly Column<FailedRequest>[] = [
  {
    title: 'Time',
    show: ({ at }) => <time dateTime={at}>{formatShortDateTimeWithSeconds(Date.parse(at) / 1_000)}</time>,
  },
  { title: 'Status', show: ({ status }) => <strong>{status}</strong>, kind: 'number' },
  {
    title: 'Error code',
    show: ({ code }) => <a href={`#/usage?code=${encodeURIComponent(code)}`}>{<code>{code}</code>}</a>,
  },
  { title: 'Operation', show: ({ operation }) => <OperationName operation={operation} /> },
  { title: 'Request ID', show: ({ requestId }) => <code class="long">{requestId}</code> },
];

const keyColumn: Column<FailedRequest> = {
  title: 'Key',
  show: ({ keyId }) =>
    keyId === null ? <span class="about">None</span> : <a href={`#/keys/${keyId}`}>Key {keyId}</a>,
};
