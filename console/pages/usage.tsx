/** Who makes the requests, and who still uses what will go. */
import { useMemo, useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { AnswerOf } from '../contract.ts';
import { counted, grouped, rate } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { sumOf } from '../outcomes.ts';
import { callerColumns } from '../parts/caller-columns.tsx';
import { Choice } from '../parts/choice.tsx';
import { LoadFailure } from '../parts/failure.tsx';
import { Card, Empty, Page, Waiting } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { operationWords, spaced } from '../words.ts';

type Caller = AnswerOf<'GET /usage/callers'>[number];

const everyMs = 15_000;

export function UsagePage() {
  return (
    <Page
      title="Usage"
      about="Who makes how many requests, and of what. Those of the last 10 seconds may be missing."
    >
      <TopCallers />
      <DeprecatedCallers />
      <Operations />
    </Page>
  );
}

const lastUsed: Column<Caller> = {
  title: 'Last request',
  show: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
};

const outcomeColumns: readonly Column<Caller>[] = [
  ...callerColumns,
  { title: 'Requests', show: (caller) => <strong>{grouped(sumOf(caller))}</strong>, kind: 'number' },
  { title: 'Wrong', show: ({ refused }) => grouped(refused), kind: 'number' },
  { title: 'Over the limit', show: ({ limited }) => grouped(limited), kind: 'number' },
  { title: 'Failed', show: ({ failed }) => grouped(failed), kind: 'number' },
  lastUsed,
];

const spans = { today: 0, week: 6, month: 29 } as const;
type Span = keyof typeof spans;

const dayMs = 86_400_000;

/** When the day began, UTC, so many days ago. */
function daysAgo(days: number): string {
  return new Date((Math.floor(Date.now() / dayMs) - days) * dayMs).toISOString();
}

function TopCallers() {
  const [span, setSpan] = useState<Span>('today');
  const load = () => call('GET /usage/callers', { query: { since: daysAgo(spans[span]) } });
  // Of many keys, a month takes the service a while to add up, and changes little.
  const loaded = useLoaded(span, load, { everyMs: span === 'today' ? everyMs : undefined });
  return (
    <Card
      title="Most requests"
      about="Keys by the number of their requests; days begin at midnight UTC"
      actions={
        <Choice
          label="Of"
          value={span}
          onChange={setSpan}
          options={[
            ['today', 'Today'],
            ['week', '7 days'],
            ['month', '30 days'],
          ]}
        />
      }
    >
      <LoadFailure loaded={loaded} />
      <Callers
        label="Keys with the most requests"
        callers={loaded.data}
        columns={outcomeColumns}
        empty="No requests in this time."
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
  if (callers === undefined) return <Waiting />;
  if (callers.length === 0) return <Empty>{empty}</Empty>;
  return <Table label={label} columns={columns} items={callers} keyOf={({ keyId }) => keyId} />;
}

const deprecatedColumns: readonly Column<Caller>[] = [
  ...callerColumns,
  {
    title: 'Deprecated requests',
    show: ({ deprecated }) => <strong>{grouped(deprecated)}</strong>,
    kind: 'number',
  },
  lastUsed,
];

function DeprecatedCallers() {
  const loaded = useLoaded('deprecated', () => call('GET /usage/deprecated'), { everyMs });
  return (
    <Card
      title="Still on the deprecated operation"
      about="Who called GET /pets/{petId} in the last 30 days, and has to change before it goes"
    >
      <LoadFailure loaded={loaded} />
      <Callers
        label="Keys that call deprecated operations"
        callers={loaded.data}
        columns={deprecatedColumns}
        empty="Nobody called it in the last 30 days."
      />
    </Card>
  );
}

interface OperationUsage {
  readonly operation: string;
  readonly total: number;
  /** Requests by what became of them, the most first. */
  readonly codes: readonly (readonly [code: string, requests: number])[];
}

const operationColumns: readonly Column<OperationUsage>[] = [
  {
    title: 'Operation',
    show: ({ operation }) => <span class="name">{nameOf(operation)}</span>,
  },
  { title: 'Requests', show: ({ total }) => <strong>{grouped(total)}</strong>, kind: 'number' },
  { title: 'Per minute', show: ({ total }) => rate(total / 60), kind: 'number' },
  {
    title: 'What became of them',
    show: ({ codes }) =>
      codes
        .map(
          ([code, requests]) =>
            `${grouped(requests)} ${code === 'ok' ? 'answered' : spaced(code).toLowerCase()}`,
        )
        .join(', '),
  },
];

function nameOf(operation: string): string {
  if (operation === 'none') return 'Of no operation';
  return (operationWords as Readonly<Record<string, string>>)[operation] ?? spaced(operation);
}

function Operations() {
  const loaded = useLoaded('minutes', () => call('GET /usage/minutes'), { everyMs });
  const operations = useMemo(() => byOperation(loaded.data ?? []), [loaded.data]);
  return (
    <Card
      title="By operation"
      about={`Of the last hour: ${counted(
        operations.reduce((sum, { total }) => sum + total, 0),
        'request',
      )}`}
    >
      <LoadFailure loaded={loaded} />
      {loaded.data === undefined && <Waiting />}
      {loaded.data?.length === 0 && <Empty>No requests in the last hour.</Empty>}
      {operations.length > 0 && (
        <Table
          label="Requests by operation"
          columns={operationColumns}
          items={operations}
          keyOf={({ operation }) => operation}
        />
      )}
    </Card>
  );
}

function byOperation(minutes: AnswerOf<'GET /usage/minutes'>): OperationUsage[] {
  const operations = new Map<string, Map<string, number>>();
  for (const { operation, codes } of minutes) {
    const sums = operations.get(operation) ?? new Map<string, number>();
    operations.set(operation, sums);
    for (const [code, requests] of Object.entries(codes)) sums.set(code, (sums.get(code) ?? 0) + requests);
  }
  return [...operations]
    .map(([operation, sums]) => ({
      operation,
      total: sums.values().reduce((sum, requests) => sum + requests, 0),
      codes: [...sums].sort(([, a], [, b]) => b - a),
    }))
    .sort((a, b) => b.total - a.total);
}
