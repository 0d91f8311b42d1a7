/** Options for uPlot, with colors from the style sheet. */
import uPlot from 'uplot';
import { isolatedIndices } from './isolated-indices.ts';

export interface Series {
  readonly name: string;
  /** CSS custom property for the color, such as `--plot-good`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  /** Legend text while the pointer is outside the plot. */
  readonly summary: string;
}

export interface PlotProps {
  /** Accessible name of the plot. */
  readonly label: string;
  /** Times in Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Areas and bars are stacked; lines are not. */
  readonly kind: 'lines' | 'areas' | 'bars';
  readonly show: (value: number) => string;
  readonly showTime: (seconds: number) => string;
  /** Formats a time for the axis as briefly as possible. `before` is the time of the previous tick. */
  readonly showTick: (seconds: number, before: number | undefined) => string;
  /** Plots with the same key share a cursor, and must have the same times. */
  readonly sync?: string | undefined;
  /** Horizontal line that marks a limit. */
  readonly limit?: { readonly name: string; readonly value: number } | undefined;
}

/** The values of each series. */
export type Values = readonly (readonly (number | null)[])[];

/** Returns cumulative sums of the series. The last series is the total. */
export function stack(values: Values): Values {
  const sums: number[][] = [];
  for (const of of values) {
    const below = sums.at(-1);
    sums.push(of.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return sums;
}

/** Intervals between ticks on the time axis (seconds), chosen so that adjacent labels differ. */
const timeSteps = [
  60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600, 43_200, 86_400, 172_800,
  345_600, 604_800, 1_209_600,
];
/**
 * Intervals between ticks on the value axis. Values are integers, so fractional intervals would repeat
 * labels.
 */
const wholeSteps = Array.from({ length: 13 }, (_, exponent) =>
  [1, 2, 5].map((digit) => digit * 10 ** exponent),
).flat();
/** Space for tick labels below and beside the plot, in CSS pixels. */
const timeRoom = 28;
const tickRoom = 52;

export function plotOptions(
  element: HTMLElement,
  { series, kind, show, showTick, limit, sync }: PlotProps,
  onPoint: (index: number | undefined) => void,
): uPlot.Options {
  const color = (name: string) => resolveColor(element, name);
  const axis = {
    stroke: color('--muted'),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const drawn = series.map((one) => seriesOptions(kind, one.name, color(one.color)));
  const dashed = {
    label: limit?.name ?? '',
    stroke: color('--plot-limit'),
    dash: [6, 4],
    width: 1.5,
    points: { show: false },
  };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: kind === 'lines' },
      ...(sync !== undefined && { sync: { key: sync, scales: ['x', null] } }),
    },
    scales: {
      x: { time: true, ...(kind === 'bars' && { range: withHalfBars }) },
      y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: timeSteps,
        size: timeRoom,
        space: 52,
        values: (_, ticks) => ticks.map((tick, at) => showTick(tick, ticks[at - 1])),
      },
      { ...axis, size: tickRoom, incrs: wholeSteps, values: (_, ticks) => ticks.map(show) },
    ],
    // Draws the total first, so that the lower series cover it.
    series: [
      {},
      ...(kind === 'lines' ? drawn : drawn.toReversed()),
      ...(limit === undefined ? [] : [dashed]),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)],
    },
    // The right padding is half the width of the last label on the time axis.
    padding: [8, 20, 0, 0],
  };
}

/** Extends the range by half an interval on either side, because bars are centered on their times. */
function withHalfBars(plot: uPlot, min: number, max: number): uPlot.Range.MinMax {
  const steps = Math.max(plot.data[0].length - 1, 1);
  const half = (max - min) / steps / 2;
  return [min - half, max + half];
}

function seriesOptions(kind: PlotProps['kind'], label: string, color: string): uPlot.Series {
  const common = { label, stroke: color, width: 2, points: { show: false } };
  const bars = uPlot.paths.bars;
  if (kind === 'bars' && bars !== undefined) {
    return { ...common, width: 0, fill: color, paths: bars({ size: [0.7, 40], radius: 0.1 }) };
  }
  if (kind === 'areas') return { ...common, width: 1, fill: color };
  // A line needs two adjacent values. A value without neighbors is drawn as a dot.
  const filter: uPlot.Series.Points.Filter = (plot, index) => isolatedIndices(plot.data[index] ?? []);
  return { ...common, points: { show: true, size: 5, fill: color, stroke: color, filter } };
}

/** Resolves a custom property to a color that a canvas accepts, for the current theme. */
function resolveColor(element: HTMLElement, name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
