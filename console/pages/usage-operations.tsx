/** Requests by operation and by error code. A link in one table filters the other. */
import { useMemo } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { formatInteger, formatRate } from '../format.ts';
import { LoadState } from '../parts/failure.tsx';
import { Card, EmptyMessage } from '../parts/layout.tsx';
import { OperationName } from '../parts/operation-name.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { buildHref } from '../router.ts';
import { type SpanName, spanStart, spans } from '../spans.ts';
import { useLoaded } from '../use-loaded.ts';

type Usage = ResponseOf<'GET /usage/operations'>;

interface Chosen {
  readonly span: SpanName;
  /** Operation to filter by; empty for all. */
  readonly operation: string;
  readonly code: string;
}

interface Row {
  readonly name: string;
  readonly href: string;
  readonly requests: number;
  readonly failed: number;
  readonly part: number;
}

const everyMs = 10_000;

export function Operations(chosen: Chosen) {
  const { span, operation, code } = chosen;
  const load = () => call('GET /usage/operations', { query: { since: spanStart(span) } });
  const loaded = useLoaded(span, load, { everyMs });
  const [operations, codes] = useMemo(
    () => toRows(loaded.data ?? [], chosen),
    [loaded.data, span, operation, code],
  );
  const { last } = spans[span];
  return (
    <div class="columns wide">
      <Card
        title="By operation"
        about={code === '' ? last : `Responded with ${code} · ${last}`}
        actions={code !== '' && <a href={hrefTo(chosen, { code: '' })}>All error codes</a>}
      >
        <LoadState loaded={loaded} />
        {loaded.data && <Rows label="Requests by operation" columns={operationColumns} rows={operations} />}
      </Card>
      <Card
        title="By error code"
        about={operation === '' ? last : `${operation} · ${last}`}
        actions={operation !== '' && <a href={hrefTo(chosen, { operation: '' })}>All operations</a>}
      >
        <LoadState loaded={loaded} />
        {loaded.data && <Rows label="Requests by error code" columns={codeColumns} rows={codes} />}
      </Card>
    </div>
  );
}

function hrefTo(chosen: Chosen, change: Partial<Chosen>): string {
  return buildHref('/usage', { ...chosen, ...change });
}

function Rows(props: { label: string; columns: readonly Column<Row>[]; rows: readonly Row[] }) {
  const { label, columns, rows } = props;
  if (rows.length === 0) return <EmptyMessage>No requests in this period.</EmptyMessage>;
  return <Table {...{ label, columns }} items={rows} keyOf={({ name }) => name} />;
}

const share: Column<Row> = { title: 'Share', show: ({ part }) => formatShare(part), kind: 'number' };
function formatShare(part: number): string {
  return part > 0 && part < 0.0005 ? '< 0.1%' : `${formatRate(part * 100)}%`;
}

const requestsColumn: Column<Row> = {
  title: 'Requests',
  show: ({ requests }) => <strong>{formatInteger(requests)}</strong>,
  kind: 'number',
};

const operationColumns: readonly Column<Row>[] = [
  { title: 'Operation', show: ({ name, href }) => <OperationName operation={name} href={href} /> },
  requestsColumn,
  { title: 'Errors', show: ({ failed }) => formatInteger(failed), kind: 'number' },
  share,
];

const codeColumns: readonly Column<Row>[] = [
  {
    title: 'Error code',
    show: ({ name, href }) => (
      <a href={href}>
        <code class="name">{name}</code>
      </a>
    ),
  },
  requestsColumn,
  share,
];

/**
 * Rows by operation, filtered by the chosen error code, and rows by error code, filtered by the chosen
 * operation. Each is sorted by descending count.
 */
function toRows(usage: Usage, chosen: Chosen): readonly [operations: readonly Row[], codes: readonly Row[]] {
  const byOperation = new Map<string, { requests: number; failed: number }>();
  const byCode = new Map<string, { requests: number; failed: number }>();
  const all = { operation: 0, code: 0 };
  for (const { operation, codes } of usage) {
    for (const [code, requests] of Object.entries(codes)) {
      const failed = code === 'ok' ? 0 : requests;
      if (chosen.code === '' || chosen.code === code) {
        add(byOperation, operation, requests, failed);
        all.operation += requests;
      }
      if (chosen.operation === '' || chosen.operation === operation) {
        if (code !== 'ok') add(byCode, code, requests, failed);
        all.code += requests;
      }
    }
  }
  const rows = (from: typeof byOperation, total: number, hrefFor: (name: string) => string) =>
    [...from]
      .map(([name, counts]) => ({ name, href: hrefFor(name), ...counts, part: counts.requests / total }))
      .sort((one, other) => other.requests - one.requests);
  return [
    rows(byOperation, all.operation, (operation) => hrefTo(chosen, { operation })),
    rows(byCode, all.code, (code) => hrefTo(chosen, { code })),
  ];
}

function add(
  sums: Map<string, { requests: number; failed: number }>,
  name: string,
  requests: number,
  failed: number,
): void {
  const { requests: earlier = 0, failed: before = 0 } = sums.get(name) ?? {};
  sums.set(name, { requests: earlier + requests, failed: before + failed });
}
