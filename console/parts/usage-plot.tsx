/** Plots the requests of an account or a key over time, with the account's limit. */
import { useMemo, useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { formatCompact, formatInteger } from '../format.ts';
import { sumCounts, totalRequests } from '../outcomes.ts';
import { useLoaded } from '../use-loaded.ts';
import { Choice } from './choice.tsx';
import { LoadState } from './failure.tsx';
import { Card, EmptyMessage } from './layout.tsx';
import { Plot } from './plot.tsx';
import { statusSeries } from './traffic-plots.tsx';

type Usage = ResponseOf<'GET /accounts/{accountId}/usage'>;
type Resolution = 'hour' | 'day';

interface Span {
  readonly resolution: Resolution;
  readonly steps: number;
  readonly stepMs: number;
}

const spans: Readonly<Record<Resolution, Span>> = {
  hour: { resolution: 'hour', steps: 48, stepMs: 3_600_000 },
  day: { resolution: 'day', steps: 30, stepMs: 86_400_000 },
};

const everyMs = 30_000;

type Owner = { readonly accountId: number } | { readonly keyId: number };

interface UsagePlotProps {
  readonly owner: Owner;
  /** Daily limit of the account, which all of its keys share. */
  readonly perDay?: number;
}

function loadUsage(owner: Owner, span: Span): Promise<Usage> {
  const query = { resolution: span.resolution, since: new Date(firstOf(span)).toISOString() };
  return 'keyId' in owner
    ? call('GET /keys/{keyId}/usage', { params: owner, query })
    : call('GET /accounts/{accountId}/usage', { params: owner, query });
}

export function UsagePlot({ owner, perDay }: UsagePlotProps) {
  const [resolution, setResolution] = useState<Resolution>('day');
  const span = spans[resolution];
  const load = async () => ({ span, usage: await loadUsage(owner, span) });
  const loaded = useLoaded(`${JSON.stringify(owner)} ${resolution}`, load, { everyMs });
  return (
    <Card
      title="Requests"
      about={
        resolution === 'day'
          ? 'By status and day (UTC), last 30 days including today so far'
          : 'By status and hour, last 2 days including this hour so far'
      }
      actions={
        <Choice
          label="Group by"
          options={[
            ['day', 'Day'],
            ['hour', 'Hour'],
          ]}
          value={resolution}
          onChange={setResolution}
        />
      }
    >
      <LoadState loaded={loaded} />
      {loaded.data && <Drawn {...loaded.data} perDay={perDay} />}
    </Card>
  );
}

const zeroCounts = { ok: 0, refused: 0, limited: 0, failed: 0 };

/** Start of the first hour or day shown, in Unix ms. */
function firstOf({ steps, stepMs }: Span): number {
  return (Math.floor(Date.now() / stepMs) - steps + 1) * stepMs;
}

function Drawn({ span, usage, perDay }: { span: Span; usage: Usage; perDay: number | undefined }) {
  const { times, counts } = useMemo(() => fillPeriods(span, usage), [span, usage]);
  const series = useMemo(() => statusSeries(counts, sumCounts(counts)), [counts]);
  const most = Math.max(...counts.map(totalRequests));
  // A limit line far above the bars would flatten the bars.
  const limit = useMemo(
    () =>
      span.resolution === 'day' && perDay !== undefined && most * 5 > perDay
        ? { name: 'Limit per day', value: perDay }
        : undefined,
    [span, most, perDay],
  );
  if (most === 0) return <EmptyMessage>No requests in this period.</EmptyMessage>;
  const showTime = span.resolution === 'day' ? showDay : showHour;
  return (
    <>
      <Plot
        label={span.resolution === 'day' ? 'Requests by day' : 'Requests by hour'}
        kind="bars"
        {...{ times, series, limit, showTime }}
        showTick={showTime}
        show={formatCompact}
      />
      {span.resolution === 'day' && limit === undefined && perDay !== undefined && (
        <p class="hint">Usage is far below the limit of {formatInteger(perDay)} per day.</p>
      )}
    </>
  );
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const hour = new Intl.DateTimeFormat('en', {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});
const showDay = (seconds: number) => day.format(seconds * 1_000);
const showHour = (seconds: number) => hour.format(seconds * 1_000);

/** Returns the usage for all hours or days of the span. */
function fillPeriods(span: Span, usage: Usage) {
  const found = new Map(usage.map((each) => [Date.parse(each.from), each]));
  const first = firstOf(span);
  const starts = Array.from({ length: span.steps }, (_, step) => first + step * span.stepMs);
  return { times: starts.map((ms) => ms / 1_000), counts: starts.map((ms) => found.get(ms) ?? zeroCounts) };
}
