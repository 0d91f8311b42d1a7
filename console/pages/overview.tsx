/** The overview: current problems, traffic, and counts of animals and bans. */
import { useMemo } from 'preact/hooks';
import type { Overview } from '../contract.ts';
import { counted, grouped, latency, rate } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { sumOf } from '../outcomes.ts';
import { Choice } from '../parts/choice.tsx';
import { LoadFailure } from '../parts/failure.tsx';
import { filterOf, setFilter } from '../parts/filters.tsx';
import { Card, Page, Waiting } from '../parts/layout.tsx';
import { Standing, useOverview } from '../parts/standing.tsx';
import { Tile } from '../parts/tile.tsx';
import { LatencyPlot, RequestsPlot, type TrafficProps } from '../parts/traffic-plots.tsx';
import { loadHistory, type SpanName, spanChoices, spanOf, spans, timesShown } from '../spans.ts';
import { showClock, showSecond } from '../time-labels.ts';
import { petStatusWords } from '../words.ts';

const everyMs = 1_000;
const historyEveryMs = 10_000;
/** Number of seconds over which the current rate is averaged. */
const nowSeconds = 10;

export function OverviewPage() {
  const loaded = useOverview(everyMs);
  const { data } = loaded;
  const span = spanOf(filterOf('span'));
  return (
    <Page
      title="Overview"
      about={span === undefined ? 'Last 5 minutes' : spans[span].last}
      badge={
        span === undefined &&
        data &&
        loaded.failure === undefined && (
          <span class="live">
            <i /> Live
          </span>
        )
      }
      actions={
        <Choice
          label="Time"
          value={span ?? ''}
          onChange={(name) => setFilter('span', name)}
          options={[['', '5 min'], ...spanChoices]}
        />
      }
    >
      <LoadFailure loaded={loaded} />
      {data === undefined ? (
        <Waiting lines={10} />
      ) : (
        <>
          <Standing loaded={loaded} />
          <Tiles overview={data} />
          {span === undefined ? <LivePlots seconds={data.seconds} /> : <HistoryPlots span={span} />}
          <div class="columns">
            <Animals inventory={data.inventory} />
            <Bans bans={data.bans} />
          </div>
        </>
      )}
    </Page>
  );
}

function Tiles({ overview: { seconds, inFlight } }: { overview: Overview }) {
  const lately = seconds.slice(-nowSeconds - 1, -1);
  const total = lately.reduce((sum, second) => sum + sumOf(second), 0);
  const all = seconds.reduce((sum, second) => sum + sumOf(second), 0);
  const limited = seconds.reduce((sum, { limited: count }) => sum + count, 0);
  const latest = seconds.findLast(({ p50 }) => p50 !== null);
  return (
    <dl class="tiles">
      <Tile
        name="Requests per second"
        value={rate(lately.length === 0 ? 0 : total / lately.length)}
        note={`${grouped(all)} in the last 5 minutes`}
      />
      <Tile
        name="Latency"
        value={latency(latest?.p50 ?? null)}
        note={`p50 · p99 ${latency(latest?.p99 ?? null)}`}
      />
      <Tile
        name="Rate limited (429)"
        value={grouped(limited)}
        note={`${part(limited, all)} of requests in the last 5 minutes`}
      />
      <Tile name="In flight" value={grouped(inFlight)} note="requests right now" />
    </dl>
  );
}

function part(some: number, all: number): string {
  return all === 0 ? '0%' : `${rate((some / all) * 100)}%`;
}

const liveTimes = { showTick: showClock, showTime: showSecond };

function LivePlots({ seconds }: Pick<Overview, 'seconds'>) {
  const times = useMemo(() => seconds.map(({ at }) => Date.parse(at) / 1_000), [seconds]);
  const common = { points: seconds, times, unit: 'second', last: 'last 5 minutes', ...liveTimes };
  return <Plots {...common} />;
}

function HistoryPlots({ span }: { span: SpanName }) {
  const loaded = useLoaded(span, async () => ({ span, steps: await loadHistory(span) }), {
    everyMs: historyEveryMs,
  });
  const { data } = loaded;
  const times = useMemo(() => (data?.steps ?? []).map(({ from }) => Date.parse(from) / 1_000), [data]);
  if (data === undefined) {
    return (
      <Card title="Requests">
        <LoadFailure loaded={loaded} />
        <Waiting />
      </Card>
    );
  }
  const { unit, last } = spans[data.span];
  return (
    <>
      <LoadFailure loaded={loaded} />
      <Plots {...{ points: data.steps, times, unit, last: last.toLowerCase() }} {...timesShown(data.span)} />
      <p class="hint">
        Includes all instances. Updated every 10 seconds. Data for the latest {unit} is incomplete.
      </p>
    </>
  );
}

function Plots(props: TrafficProps) {
  return (
    <div class="columns wide">
      <RequestsPlot {...props} />
      <LatencyPlot {...props} />
    </div>
  );
}

function Animals({ inventory }: Pick<Overview, 'inventory'>) {
  const statuses = ['available', 'pending', 'sold'] as const;
  const total = statuses.reduce((sum, status) => sum + inventory[status], 0);
  return (
    <Card title="Animals" actions={<a href="#/animals">Show animals</a>}>
      <p class="big">{grouped(total)}</p>
      <div class="parts" aria-hidden="true">
        {statuses.map((status) => (
          <span key={status} class={status} style={{ flexGrow: inventory[status] }} />
        ))}
      </div>
      <ul class="legend">
        {statuses.map((status) => (
          <li key={status}>
            <a href={`#/animals?status=${status}`}>
              <i class={status} />
              {petStatusWords[status].text} <strong>{grouped(inventory[status])}</strong>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Bans({ bans }: Pick<Overview, 'bans'>) {
  return (
    <Card title="Bans" actions={<a href="#/bans">Show bans</a>}>
      <p class="big">{grouped(bans)}</p>
      <p class="about">
        {bans === 0
          ? 'No keys are banned.'
          : `${counted(bans, 'key is', 'keys are')} banned for repeatedly ignoring 429 responses.`}
      </p>
    </Card>
  );
}
