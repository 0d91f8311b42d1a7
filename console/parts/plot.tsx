/** A plot over time. The legend shows the values at the cursor, which is moved with the pointer or the arrow keys. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { colorChanges } from '../theme.ts';
import { type PlotProps, plotOptions, type Series, stack, type Values } from './plot-options.ts';

export function Plot(props: PlotProps) {
  const { label, times, series, kind, show, showTime, limit, sync } = props;
  const plot = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number>();
  const time = at === undefined ? undefined : times[at];
  const entries = series.map(({ name, color, values, summary }) => {
    return { name, color, value: at === undefined ? summary : showValue(values[at], show) };
  });
  const sentence = entries.map(({ name, value }) => `${name}: ${value}`).join(', ');
  // Everything except the values. A change creates a new canvas, because a canvas reads colors only once.
  const shape = [label, kind, limit?.name, ...series.map(({ name }) => name), colorChanges.value].join();
  return (
    <figure class="plot">
      <figcaption class="legend">
        {entries.map(({ name, color, value }) => (
          <span key={name}>
            <i style={{ background: `var(${color})` }} />
            {name} <strong>{value}</strong>
          </span>
        ))}
        {limit && (
          <span>
            <i class="limit" />
            {limit.name} <strong>{show(limit.value)}</strong>
          </span>
        )}
        <span class="at">{time === undefined ? '' : showTime(time)}</span>
      </figcaption>
      <Canvas key={shape} of={props} plot={plot} onPoint={setAt} />
      <input
        class="unseen"
        type="range"
        min={0}
        max={times.length - 1}
        value={at ?? times.length - 1}
        aria-label={`Point in time: ${label}`}
        aria-valuetext={`${showTime(time ?? times.at(-1) ?? 0)}, ${sentence}`}
        onInput={({ currentTarget }) => pointAt(plot.current, currentTarget.valueAsNumber, sync)}
      />
    </figure>
  );
}

function showValue(value: number | null | undefined, show: (value: number) => string): string {
  return value === null || value === undefined ? '–' : show(value);
}

/** Moves the cursor of the plot and of all plots that share it. */
function pointAt(plot: uPlot | undefined, index: number, sync: string | undefined): void {
  const time = plot?.data[0][index];
  if (plot === undefined || time === undefined) return;
  const plots = sync === undefined ? [plot] : uPlot.sync(sync).plots;
  for (const each of plots) each.setCursor({ left: each.valToPos(time, 'x'), top: 1 });
}

interface CanvasProps {
  readonly of: PlotProps;
  readonly plot: { current: uPlot | undefined };
  readonly onPoint: (index: number | undefined) => void;
}

/** The canvas of a plot. New values redraw it without recreating it. */
function Canvas({ of: props, plot, onPoint }: CanvasProps) {
  const place = useRef<HTMLDivElement>(null);
  const { times, series, kind, limit } = props;
  const data = useMemo(() => dataOf(times, series, kind, limit), [times, series, kind, limit]);
  const latest = useRef({ props, data, plot, onPoint });
  latest.current = { props, data, plot, onPoint };
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const first = latest.current;
    const drawing = new uPlot(plotOptions(element, first.props, first.onPoint), first.data, element);
    first.plot.current = drawing;
    const resized = new ResizeObserver(() =>
      drawing.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      drawing.destroy();
    };
  }, []);
  useEffect(() => latest.current.plot.current?.setData(data), [data]);
  return <div ref={place} class="canvas" role="img" aria-label={props.label} />;
}

function dataOf(
  times: readonly number[],
  series: readonly Series[],
  kind: PlotProps['kind'],
  limit: PlotProps['limit'],
): uPlot.AlignedData {
  const values: Values = series.map((one) => one.values);
  const drawn = kind === 'lines' ? values : stack(values).toReversed();
  const line = limit === undefined ? [] : [times.map(() => limit.value)];
  return [[...times], ...drawn.map((of) => [...of]), ...line];
}
