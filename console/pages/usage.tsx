/** The usage page: requests by status, operation, key and error code, and callers of deprecated operations. */
import { useMemo } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { formatInteger } from '../format.ts';
import { totalRequests } from '../outcomes.ts';
import { callerColumns } from '../parts/caller-columns.tsx';
import { Choice } from '../parts/choice.tsx';
import { FailedRequests } from '../parts/failed-requests.tsx';
import { LoadState } from '../parts/failure.tsx';
import { getFilter, setFilter } from '../parts/filters.tsx';
import { Card, EmptyMessage, Page } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { RequestsPlot } from '../parts/traffic-plots.tsx';
import { loadHistory, parseSpanName, type SpanName, spanChoices, trafficPlotProps } from '../spans.ts';
import { useLoaded } from '../use-loaded.ts';
import { Operations } from './usage-operations.tsx';

type Caller = ResponseOf<'GET /usage/callers'>[number];

const everyMs = 15_000;

export function UsagePage() {
  const span = parseSpanName(getFilter('span')) ?? 'day';
  const [operation, code, requestId] = [getFilter('operation'), getFilter('code'), getFilter('requestId')];
  const failed = <FailedRequests {...{ operation, code, requestId }} />;
  return (
    <Page
      title="Usage"
      about="Requests by status, operation, key and error code. Updated every 10 seconds."
      actions={
        <Choice
          label="Time"
          value={span}
          onChange={(name) => setFilter('span', name)}
          options={spanChoices}
        />
      }
    >
      {requestId !== '' && failed}
      <Requests span={span} />
      <Operations {...{ span, operation, code }} />
      <TopCallers span={span} />
      {requestId === '' && failed}
      <DeprecatedCallers />
    </Page>
  );
}

function Requests({ span }: { span: SpanName }) {
  const loaded = useLoaded(span, () => loadHistory(span), { everyMs });
  const { data } = loaded;
  const traffic = useMemo(() => data && trafficPlotProps(data), [data]);
  return (
    <>
      <LoadState loaded={loaded} />
      {traffic && <RequestsPlot {...traffic} />}
    </>
  );
}

const lastUsed: Column<Caller> = {
  title: 'Last request',
  show: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
};

const outcomeColumns: readonly Column<Caller>[] = [
  ...callerColumns,
  {
    title: 'Requests',
    show: (caller) => <strong>{formatInteger(totalRequests(caller))}</strong>,
    kind: 'number',
  },
  { title: '4xx', show: ({ refused }) => formatInteger(refused), kind: 'number' },
  { title: '429', show: ({ limited }) => formatInteger(limited), kind: 'number' },
  { title: '5xx', show: ({ failed }) => formatInteger(failed), kind: 'number' },
  lastUsed,
];

/** For each span, the number of days to include before today, and a label. Requests by key are counted per day. */
const callerDays: Readonly<Record<SpanName, readonly [days: number, text: string]>> = {
  hour: [0, 'Today'],
  day: [0, 'Today'],
  week: [6, 'Last 7 days'],
  month: [29, 'Last 30 days'],
};

const dayMs = 86_400_000;

/** Start of the UTC day that was `days` days ago. */
function daysAgo(days: number): string {
  return new Date((Math.floor(Date.now() / dayMs) - days) * dayMs).toISOString();
}

function TopCallers({ span }: { span: SpanName }) {
  const [days, text] = callerDays[span];
  const load = () => call('GET /usage/callers', { query: { since: daysAgo(days) } });
  // Longer periods are not reloaded, because their totals change slowly and are expensive to compute for many keys.
  const loaded = useLoaded(text, load, { everyMs: days === 0 ? everyMs : undefined });
  return (
    <Card title="By key" about={`Keys with the most requests · ${text}. Days begin at midnight UTC.`}>
      <LoadState loaded={loaded} />
      <Callers
        label="Keys with the most requests"
        callers={loaded.data}
        columns={outcomeColumns}
        empty="No requests in this period."
      />
    </Card>
  );
}

function Callers(props: {
  label: string;
  callers: readonly Caller[] | undefined;
  columns: readonly Column<Caller>[];
  empty: string;
}) {
  const { label, callers, columns, empty } = props;
  if (callers === undefined) return null;
  if (callers.length === 0) return <EmptyMessage>{empty}</EmptyMessage>;
  return <Table label={label} columns={columns} items={callers} keyOf={({ keyId }) => keyId} />;
}

const deprecatedColumns: readonly Column<Caller>[] = [
  ...callerColumns,
  {
    title: 'Deprecated requests',
    show: ({ deprecated }) => <strong>{formatInteger(deprecated)}</strong>,
    kind: 'number',
  },
  lastUsed,
];

function DeprecatedCallers() {
  const loaded = useLoaded('deprecated', () => call('GET /usage/deprecated'), { everyMs });
  return (
    <Card
      title="Deprecated operations"
      about="Keys that called getPet (GET /pets/{petId}) in the last 30 days. Their programs must stop using it."
    >
      <LoadState loaded={loaded} />
      <Callers
        label="Keys that call deprecated operations"
        callers={loaded.data}
        columns={deprecatedColumns}
        empty="No key has called a deprecated operation in the last 30 days."
      />
    </Card>
  );
}
