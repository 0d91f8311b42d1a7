/** The overview: current problems, traffic, and counts of animals and bans. */
import { useMemo } from 'preact/hooks';
import type { Overview } from '../contract.ts';
import { formatInteger, formatLatency, formatRate, pluralize } from '../format.ts';
import { petStatusLabels } from '../labels.ts';
import { sumCounts, totalRequests } from '../outcomes.ts';
import { Choice } from '../parts/choice.tsx';
import { LoadState } from '../parts/failure.tsx';
import { getFilter, setFilter } from '../parts/filters.tsx';
import { Card, Page } from '../parts/layout.tsx';
import { ServiceStatus, useOverview } from '../parts/service-status.tsx';
import { Tile } from '../parts/tile.tsx';
import { LatencyPlot, RequestsPlot, type TrafficProps } from '../parts/traffic-plots.tsx';
import { loadHistory, parseSpanName, type SpanName, spanChoices, spans, trafficPlotProps } from '../spans.ts';
import { formatTimeOfDay, formatTimeOfDayWithSeconds } from '../time-labels.ts';
import { useLoaded } from '../use-loaded.ts';

const everyMs = 1_000;
const historyEveryMs = 10_000;
/** Number of seconds over which the current rate is averaged. */
const nowSeconds = 10;

export function OverviewPage() {
  const loaded = useOverview(everyMs);
  const { data } = loaded;
  const span = parseSpanName(getFilter('span'));
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
      <LoadState loaded={loaded} lines={10} />
      {data && (
        <>
          <ServiceStatus loaded={loaded} />
          {span === undefined ? <Live overview={data} /> : <History span={span} inFlight={data.inFlight} />}
          <div class="columns">
            <Animals inventory={data.inventory} />
            <Bans bans={data.bans} />
          </div>
        </>
      )}
    </Page>
  );
}

const live = {
  unit: 'second',
  last: 'last 5 minutes',
  showTick: formatTimeOfDay,
  showTime: formatTimeOfDayWithSeconds,
} as const;

function Live({ overview: { seconds, inFlight } }: { overview: Overview }) {
  const traffic = useMemo(() => {
    const points = seconds.slice(0, -1);
    return {
      points,
      times: points.map(({ at }) => Date.parse(at) / 1_000),
      total: sumCounts(seconds),
      ...live,
    };
  }, [seconds]);
  const lately = traffic.points.slice(-nowSeconds);
  return (
    <>
      <Tiles
        traffic={traffic}
        perSecond={totalRequests(sumCounts(lately)) / nowSeconds}
        inFlight={inFlight}
      />
      <Plots {...traffic} />
    </>
  );
}

function History({ span, inFlight }: { span: SpanName } & Pick<Overview, 'inFlight'>) {
  const loaded = useLoaded(span, () => loadHistory(span), { everyMs: historyEveryMs });
  const { data } = loaded;
  const traffic = useMemo(() => data && trafficPlotProps(data), [data]);
  if (data === undefined || traffic === undefined) return <LoadState loaded={loaded} lines={10} />;
  const seconds = (data.ended.length * spans[data.span].stepMs) / 1_000;
  return (
    <>
      <LoadState loaded={loaded} />
      <Tiles
        traffic={traffic}
        perSecond={totalRequests(sumCounts(data.ended)) / seconds}
        inFlight={inFlight}
      />
      <Plots {...traffic} />
      <p class="hint">
        Includes all instances. Updated every 10 seconds. The plots end with the last full {traffic.unit}.
      </p>
    </>
  );
}

interface TilesProps extends Pick<Overview, 'inFlight'> {
  readonly traffic: TrafficProps;
  /** Requests per second. */
  readonly perSecond: number;
}

function Tiles({ traffic: { points, total, unit, last }, perSecond, inFlight }: TilesProps) {
  const all = totalRequests(total);
  const latest = points.findLast(({ p50 }) => p50 !== null);
  return (
    <dl class="tiles">
      <Tile
        name="Requests per second"
        value={formatRate(perSecond)}
        note={`${formatInteger(all)} in the ${last}`}
      />
      <Tile
        name="Latency"
        value={formatLatency(latest?.p50 ?? null)}
        note={`p50 · p99 ${formatLatency(latest?.p99 ?? null)} · latest ${unit}`}
      />
      <Tile
        name="Rate limited (429)"
        value={formatInteger(total.limited)}
        note={`${part(total.limited, all)} of requests in the ${last}`}
      />
      <Tile name="In flight" value={formatInteger(inFlight)} note="requests right now" />
    </dl>
  );
}

function part(some: number, all: number): string {
  return all === 0 ? '0%' : `${formatRate((some / all) * 100)}%`;
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
      <p class="big">{formatInteger(total)}</p>
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
              {petStatusLabels[status].text} <strong>{formatInteger(inventory[status])}</strong>
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
      <p class="big">{formatInteger(bans)}</p>
      <p class="about">
        {bans === 0
          ? 'No keys are banned.'
          : `${pluralize(bans, 'key is', 'keys are')} banned for repeatedly ignoring 429 responses.`}
      </p>
    </Card>
  );
}
