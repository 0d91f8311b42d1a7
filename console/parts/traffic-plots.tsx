/** Plots of requests by status and of latency over time. */
import { useMemo } from 'preact/hooks';
import { grouped, latency, rate } from '../format.ts';
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
  readonly points: readonly Point[];
  /** Unit of one data point: `second`. */
  readonly unit: string;
  /** The period shown: `last hour`. */
  readonly last: string;
}

/** Plots with this key share a cursor. */
const sync = 'traffic';

export function statusSeries(counts: readonly Counts[]): Series[] {
  return outcomes.map(({ name, text, colour }) => {
    const values = counts.map((count) => count[name]);
    return { name: text, colour, values, summary: grouped(values.reduce((sum, value) => sum + value, 0)) };
  });
}

export function RequestsPlot({ points, unit, last, ...times }: TrafficProps) {
  const series = useMemo(() => statusSeries(points), [points]);
  return (
    <Card title="Requests" about={`By status, per ${unit}`}>
      <Plot label={`Requests, ${last}`} kind="areas" {...{ ...times, series, sync }} show={rate} />
    </Card>
  );
}

const percentiles = [
  { name: 'p50', colour: '--plot-good' },
  { name: 'p95', colour: '--plot-warn' },
  { name: 'p99', colour: '--plot-note' },
] as const;

export function LatencyPlot({ points, unit, last, ...times }: TrafficProps) {
  const series = useMemo<Series[]>(
    () =>
      percentiles.map(({ name, colour }) => ({
        ...{ name, colour },
        values: points.map((point) => point[name]),
        summary: latency(points.findLast((point) => point[name] !== null)?.[name] ?? null),
      })),
    [points],
  );
  return (
    <Card title="Latency" about={`Percentiles per ${unit}`}>
      <Plot label={`Latency, ${last}`} kind="lines" {...{ ...times, series, sync }} show={latency} />
    </Card>
  );
}
