/** Time ranges of plots. */
import { call } from './api.ts';
import type { ResponseOf } from './contract.ts';
import { now } from './format.ts';
import { sumCounts } from './outcomes.ts';
import { formatShortDate, formatShortDateTime, formatTimeOfDay, formatTimeOrDate } from './time-labels.ts';

type HistoryStep = ResponseOf<'GET /usage/history'>[number];

interface Span {
  readonly text: string;
  /** Name of the span in headings. */
  readonly last: string;
  readonly step: '1m' | '5m' | '1h' | '6h';
  readonly stepMs: number;
  readonly steps: number;
  /** Name of an interval in phrases such as "per minute". */
  readonly unit: string;
}

const [minuteMs, hourMs] = [60_000, 3_600_000];

export const spans = {
  hour: { text: '1 h', last: 'Last hour', step: '1m', stepMs: minuteMs, steps: 60, unit: 'minute' },
  day: {
    text: '24 h',
    last: 'Last 24 hours',
    step: '5m',
    stepMs: 5 * minuteMs,
    steps: 288,
    unit: '5 minutes',
  },
  week: { text: '7 d', last: 'Last 7 days', step: '1h', stepMs: hourMs, steps: 168, unit: 'hour' },
  month: {
    text: '30 d',
    last: 'Last 30 days',
    step: '6h',
    stepMs: 6 * hourMs,
    steps: 120,
    unit: '6 hours',
  },
} as const satisfies Readonly<Record<string, Span>>;

export type SpanName = keyof typeof spans;

export const spanChoices = Object.entries(spans).map(([name, { text }]) => [name as SpanName, text] as const);

/** Returns the name if there is a span with that name; otherwise undefined. */
export function parseSpanName(name: string): SpanName | undefined {
  return Object.hasOwn(spans, name) ? (name as SpanName) : undefined;
}

/** Start of the first interval, in Unix ms. */
function firstOf({ stepMs, steps }: Span): number {
  return (Math.floor(Math.max(now.peek(), Date.now()) / stepMs) - steps + 1) * stepMs;
}

export function spanStart(name: SpanName): string {
  return new Date(firstOf(spans[name])).toISOString();
}

const zeroCounts = { ok: 0, refused: 0, limited: 0, failed: 0, p50: null, p95: null, p99: null };

/** Requests are recorded at most this long after they are answered. */
const recordingDelayMs = 10_000;

interface UsageHistory {
  readonly span: SpanName;
  /** All intervals, oldest first, including those without requests. */
  readonly steps: readonly HistoryStep[];
  /** The intervals that have ended, and whose requests are all recorded. */
  readonly ended: readonly HistoryStep[];
}

export async function loadHistory(name: SpanName): Promise<UsageHistory> {
  const span = spans[name];
  const first = firstOf(span);
  const since = new Date(first).toISOString();
  const found = await call('GET /usage/history', { query: { step: span.step, since } });
  const byTime = new Map(found.map((step) => [Date.parse(step.from), step]));
  const steps = Array.from({ length: span.steps }, (_, index) => {
    const at = first + index * span.stepMs;
    return byTime.get(at) ?? { from: new Date(at).toISOString(), ...zeroCounts };
  });
  const lastEnd = Date.now() - recordingDelayMs;
  return { span: name, steps, ended: steps.filter(({ from }) => Date.parse(from) + span.stepMs <= lastEnd) };
}

/** The properties of traffic plots of a span. The running interval is only part of the total. */
export function trafficPlotProps({ span, steps, ended }: UsageHistory) {
  const { unit, last } = spans[span];
  const times = ended.map(({ from }) => Date.parse(from) / 1_000);
  return {
    points: ended,
    times,
    total: sumCounts(steps),
    unit,
    last: last.toLowerCase(),
    ...timeFormats(span),
  };
}

/** Time formats for the axis and the cursor of a span. */
function timeFormats(name: SpanName) {
  const isShort = name === 'hour' || name === 'day';
  return {
    showTick: isShort ? formatTimeOrDate : formatShortDate,
    showTime: name === 'hour' ? formatTimeOfDay : formatShortDateTime,
  };
}
