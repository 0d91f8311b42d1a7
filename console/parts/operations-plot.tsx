/** Plots a key's requests by operation and day. */
import { useMemo } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { formatCompact, formatInteger } from '../format.ts';
import { useLoaded } from '../use-loaded.ts';
import { LoadState } from './failure.tsx';
import { Card, EmptyMessage } from './layout.tsx';
import { Plot } from './plot.tsx';
import type { Series } from './plot-options.ts';

type Usage = ResponseOf<'GET /keys/{keyId}/usage/operations'>;

const dayMs = 86_400_000;
const days = 30;
const everyMs = 30_000;
/** Colors of the operations with the most requests. All other operations share one color. */
const colors = ['--plot-1', '--plot-2', '--plot-3', '--plot-4', '--plot-5', '--plot-6'];

export function OperationsPlot({ keyId }: { keyId: number }) {
  const load = () => call('GET /keys/{keyId}/usage/operations', { params: { keyId } });
  const loaded = useLoaded(String(keyId), load, { everyMs });
  return (
    <Card
      title="Requests by operation"
      about="By day (UTC), regardless of status, last 30 days including today so far"
    >
      <LoadState loaded={loaded} />
      {loaded.data && <UsageChart usage={loaded.data} />}
    </Card>
  );
}

const date = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const showDay = (seconds: number) => date.format(seconds * 1_000);

function UsageChart({ usage }: { usage: Usage }) {
  const { times, series } = useMemo(() => toChartData(usage), [usage]);
  if (series.length === 0) return <EmptyMessage>No requests in this period.</EmptyMessage>;
  return (
    <Plot
      label="Requests by operation"
      kind="bars"
      {...{ times, series }}
      showTick={showDay}
      showTime={showDay}
      show={formatCompact}
    />
  );
}

function toChartData(usage: Usage) {
  const first = (Math.floor(Date.now() / dayMs) - days + 1) * dayMs;
  const starts = Array.from({ length: days }, (_, index) => first + index * dayMs);
  const sums = new Map<string, Map<number, number>>();
  const totals = Map.groupBy(usage, ({ operation }) => operation);
  const most = [...totals]
    .map(([operation, rows]) => ({ operation, total: rows.reduce((sum, { requests }) => sum + requests, 0) }))
    .sort((one, other) => other.total - one.total)
    .slice(0, colors.length)
    .map(({ operation }) => operation);
  for (const { from, operation, requests } of usage) {
    const name = most.includes(operation) ? operation : 'others';
    const byDay = sums.get(name) ?? new Map<number, number>();
    sums.set(name, byDay);
    const day = Date.parse(from);
    byDay.set(day, (byDay.get(day) ?? 0) + requests);
  }
  const series = [...most, 'others'].flatMap((name, index): Series[] => {
    const byDay = sums.get(name);
    if (byDay === undefined) return [];
    const values = starts.map((day) => byDay.get(day) ?? 0);
    const summary = formatInteger(values.reduce((sum, value) => sum + value, 0));
    return [{ name, color: colors[index] ?? '--plot-other', values, summary }];
  });
  return { times: starts.map((ms) => ms / 1_000), series };
}
