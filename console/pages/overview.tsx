/** How the service is doing, second by second, and what is wrong. */
import { useMemo } from 'preact/hooks';
import { call } from '../api.ts';
import type { Overview } from '../contract.ts';
import { counted, grouped, latency, rate, withInstants } from '../format.ts';
import { useLoaded } from '../loaded.ts';
import { outcomes, sumOf } from '../outcomes.ts';
import { LoadFailure } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Page, Waiting } from '../parts/layout.tsx';
import { Plot } from '../parts/plot.tsx';
import type { Series } from '../parts/plot-options.ts';
import { Tile } from '../parts/tile.tsx';
import { named } from '../text.ts';
import { petStatusWords } from '../words.ts';

type Second = Overview['seconds'][number];

const everyMs = 1_000;
/** Over how many of the last seconds the rate of now is taken. */
const nowSeconds = 10;

export function OverviewPage() {
  const loaded = useLoaded('overview', () => call('GET /overview'), { everyMs });
  const { data } = loaded;
  return (
    <Page
      title="Overview"
      about="The last five minutes, as they come."
      badge={
        data &&
        loaded.failure === undefined && (
          <span class="live">
            <i /> Live
          </span>
        )
      }
    >
      <LoadFailure loaded={loaded} />
      {data === undefined ? (
        <Waiting lines={10} />
      ) : (
        <>
          <Concerns concerns={data.concerns} />
          <Tiles overview={data} />
          <div class="columns wide">
            <Requests seconds={data.seconds} />
            <Latency seconds={data.seconds} />
          </div>
          <div class="columns">
            <Animals inventory={data.inventory} />
            <Bans bans={data.bans} />
          </div>
        </>
      )}
    </Page>
  );
}

function Concerns({ concerns }: Pick<Overview, 'concerns'>) {
  if (concerns.length === 0) {
    return (
      <p class="message good">
        <Icon name="check" />
        <span>
          <strong>All is well.</strong> Nothing needs you now.
        </span>
      </p>
    );
  }
  return (
    <ul class="concerns" aria-label="What is wrong now">
      {concerns.map(({ what, remedy }) => (
        <li key={what} class="message bad">
          <Icon name="warning" />
          <div>
            <strong>{named(withInstants(what))}</strong>
            <p>{withInstants(remedy)}</p>
          </div>
        </li>
      ))}
    </ul>
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
        note={`${grouped(all)} in five minutes`}
      />
      <Tile
        name="Time to answer"
        value={latency(latest?.p50 ?? null)}
        note={`half of them; 99 of 100 within ${latency(latest?.p99 ?? null)}`}
      />
      <Tile
        name="Refused by limits"
        value={grouped(limited)}
        note={`${part(limited, all)} of all in five minutes`}
      />
      <Tile name="Under way" value={grouped(inFlight)} note="requests at this moment" />
    </dl>
  );
}

function part(some: number, all: number): string {
  return all === 0 ? '0%' : `${rate((some / all) * 100)}%`;
}

const format = { hour: '2-digit', minute: '2-digit', hour12: false } as const;
const clock = new Intl.DateTimeFormat('en', format);
const exactClock = new Intl.DateTimeFormat('en', { ...format, second: '2-digit' });
const shown = {
  showTick: (seconds: number) => clock.format(seconds * 1_000),
  showTime: (seconds: number) => exactClock.format(seconds * 1_000),
};
const timesOf = (seconds: readonly Second[]) => seconds.map(({ at }) => Date.parse(at) / 1_000);

function Requests({ seconds }: { seconds: readonly Second[] }) {
  const series = useMemo(
    () =>
      outcomes.map(({ name, text, colour }) => {
        const values = seconds.map((second) => second[name]);
        return {
          name: text,
          colour,
          values,
          summary: grouped(values.reduce((sum, value) => sum + value, 0)),
        };
      }),
    [seconds],
  );
  const times = useMemo(() => timesOf(seconds), [seconds]);
  return (
    <Card title="Requests per second" about="By what became of them">
      <Plot
        label="Requests of the last five minutes"
        kind="areas"
        {...{ times, series, ...shown }}
        show={rate}
      />
    </Card>
  );
}

function Latency({ seconds }: { seconds: readonly Second[] }) {
  const series = useMemo<Series[]>(() => {
    const latest = seconds.findLast(({ p50 }) => p50 !== null);
    return [
      {
        name: 'Half within',
        colour: '--plot-good',
        values: seconds.map(({ p50 }) => p50),
        summary: latency(latest?.p50 ?? null),
      },
      {
        name: '99 of 100 within',
        colour: '--plot-note',
        values: seconds.map(({ p99 }) => p99),
        summary: latency(latest?.p99 ?? null),
      },
    ];
  }, [seconds]);
  const times = useMemo(() => timesOf(seconds), [seconds]);
  return (
    <Card title="Time to answer" about="Of the requests in each second">
      <Plot
        label="Time to answer in the last five minutes"
        kind="lines"
        {...{ times, series, ...shown }}
        show={latency}
      />
    </Card>
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
          ? 'No key is banned.'
          : `${counted(bans, 'key is', 'keys are')} banned because of requests that kept coming after 429.`}
      </p>
    </Card>
  );
}
