/** How uPlot draws, in the colours of the style. */
import uPlot from 'uplot';

export interface Series {
  readonly name: string;
  /** A custom property of the style: `--plot-good`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** What the legend says while nobody points anywhere. */
  readonly summary: string;
}

export interface PlotProps {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  /** Unix s, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Lines for what goes up and down, areas and bars for what adds up. */
  readonly kind: 'lines' | 'areas' | 'bars';
  readonly show: (value: number) => string;
  readonly showTime: (seconds: number) => string;
  /** The same, as short as an axis needs it. */
  readonly showTick: (seconds: number) => string;
  /** A line that must not be crossed. */
  readonly limit?: { readonly name: string; readonly value: number } | undefined;
}

/** The values of each series. */
export type Values = readonly (readonly (number | null)[])[];

/** Each on top of those before it; the last one is the sum of all. */
export function stacked(values: Values): Values {
  const sums: number[][] = [];
  for (const of of values) {
    const below = sums.at(-1);
    sums.push(of.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return sums;
}

/** Seconds between times on an axis: as the shortest texts tell them apart. */
const timeSteps = [
  60, 120, 300, 600, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800,
];
/** CSS pixels below and beside the plot. */
const timeRoom = 28;
const tickRoom = 52;

export function optionsOf(
  element: HTMLElement,
  { series, kind, show, showTick, limit }: PlotProps,
  onPoint: (index: number | undefined) => void,
): uPlot.Options {
  const colour = (name: string) => colourOf(element, name);
  const axis = {
    stroke: colour('--muted'),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const drawn = series.map((one) => seriesOf(kind, one.name, colour(one.colour)));
  const dashed = {
    label: limit?.name ?? '',
    stroke: colour('--plot-limit'),
    dash: [6, 4],
    width: 1.5,
    points: { show: false },
  };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
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
        space: 64,
        values: (_, ticks) => ticks.map(showTick),
      },
      { ...axis, size: tickRoom, values: (_, ticks) => ticks.map(show) },
    ],
    // The sum of all is drawn first, and what is below it over it.
    series: [
      {},
      ...(kind === 'lines' ? drawn : drawn.toReversed()),
      ...(limit === undefined ? [] : [dashed]),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)],
    },
    padding: [8, 8, 0, 0],
  };
}

/** Half a bar's room on either side, where bars stand on their times. */
function withHalfBars(plot: uPlot, min: number, max: number): uPlot.Range.MinMax {
  const steps = Math.max(plot.data[0].length - 1, 1);
  const half = (max - min) / steps / 2;
  return [min - half, max + half];
}

function seriesOf(kind: PlotProps['kind'], label: string, colour: string): uPlot.Series {
  const common = { label, stroke: colour, width: 2, points: { show: false } };
  const bars = uPlot.paths.bars;
  if (kind === 'bars' && bars !== undefined) {
    return { ...common, width: 0, fill: colour, paths: bars({ size: [0.7, 40], radius: 0.1 }) };
  }
  return kind === 'areas' ? { ...common, width: 1, fill: colour } : common;
}

/** A colour as the canvas needs it: that of the style, for the theme of now. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
