/** Plots of requests by status and of latency over time. */
import { useMemo } from 'preact/hooks';
import { formatInteger, formatLatency, formatRate } from '../format.ts';
import { type Counts, outcomes } from '../outcomes.ts';
import { Card } from './layout.tsx';
import { Plot } from './plot.tsx';
import type { PlotProps, Series } from './plot-options.ts';

/** A data point, with requests by outcome and latencies in microseconds. */
interface Point extends Counts {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface TrafficProps extends Pick<PlotProps, 'times' | 'showTick' | 'showTime'> {
  /** Does not include the running interval, which would look like a drop in traffic. */
  readonly points: readonly Point[];
  /** Requests in the whole period, including the running interval. */
  readonly total: Counts;
  /** Unit of one data point: `second`. */
  readonly unit: string;
  /** The period shown: `last hour`. */
  readonly last: string;
}

/** Plots with this key share a cursor. */
const sync = 'traffic';

export function statusSeries(counts: readonly Counts[], total: Counts): Series[] {
  return outcomes.map(({ name, text, color }) => ({
    ...{ name: text, color },
    values: counts.map((count) => count[name]),
    summary: formatInteger(total[name]),
  }));
}

export function RequestsPlot({ points, total, unit, last, ...times }: TrafficProps) {
  const series = useMemo(() => statusSeries(points, total), [points, total]);
  return (
    <Card title="Requests" about={`By status, per ${unit}`}>
      <Plot label={`Requests, ${last}`} kind="areas" {...{ ...times, series, sync }} show={formatRate} />
    </Card>
  );
}

const percentiles = [
  { name: 'p50', color: '--plot-1' },
  { name: 'p95', color: '--plot-2' },
  { name: 'p99', color: '--plot-3' },
] as const;

export function LatencyPlot({ points, total: _, unit, last, ...times }: TrafficProps) {
  const series = useMemo<Series[]>(
    () =>
      percentiles.map(({ name, color }) => ({
        ...{ name, color },
        values: points.map((point) => point[name]),
        summary: formatLatency(points.findLast((point) => point[name] !== null)?.[name] ?? null),
      })),
    [points],
  );
  return (
    <Card title="Latency" about={`Percentiles per ${unit}`}>
      <Plot label={`Latency, ${last}`} kind="lines" {...{ ...times, series, sync }} show={formatLatency} />
    </Card>
  );
}
