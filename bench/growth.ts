/**
 * Measures and reports the time to the first response, and how cost grows with page depth and the numbers of animals and
 * accounts.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCursor } from '../src/contract/cursor.ts';
import { animal } from './animals.ts';
import { get } from './contender.ts';
import { manySpellings, spelled } from './filter-targets.ts';
import { atMost, type Goal } from './goals.ts';
import { connections, type PlannedRequest } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Measurable, Sample } from './measure.ts';
import { animalCount, type Options } from './options.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { type Case, runRounds } from './rounds.ts';
import type { Scenario } from './scenarios.ts';
import type { ServerProcess } from './server-process.ts';
import { embeddedStore, fill, issueKeys, listTarget, type StoreSettings, startService } from './service.ts';
import { median } from './statistics.ts';
import { cost, ratio, samplesOf } from './summary.ts';
import { progress } from './terminal.ts';
import { waitUntilQuiet } from './wait-until-quiet.ts';

/** Measurements of a store of a given size. */
interface Size {
  readonly name: string;
  readonly animals: number;
  readonly accounts: number;
  readonly fileMb: number;
  /** Median time from process start to the first 200 response. */
  readonly firstAnswerMs: number;
  readonly startedMemoryMb: number;
  readonly peakMemoryMb: number;
}

interface GrowthResults extends Conditions {
  readonly connections: number;
  readonly sizes: readonly Size[];
  readonly samples: readonly Sample[];
}

const starts = 7;
const restTimeoutMs = 5_000;

const accountCounts = [10, 1_000, 100_000];

export async function measureGrowth(options: Options, folder: string): Promise<GrowthResults> {
  const animalCounts = options.careful ? [1_000, 100_000, 10_000_000] : [1_000, 10_000, 100_000];
  await using servers = new AsyncDisposableStack();
  const place: Place = { folder, servers, careful: options.careful };
  const prepared: Prepared[] = [];
  for (const animals of animalCounts) {
    prepared.push(await prepare(place, `${animals.toLocaleString('en')} animals`, animals, 1));
  }
  for (const accounts of accountCounts) {
    const name = `${accounts.toLocaleString('en')} accounts`;
    prepared.push(await prepare(place, name, animalCount, accounts));
  }
  const samples = await runRounds(options, folder, animalCount, prepared.flatMap(casesOf));
  return {
    ...readConditions(options, folder),
    connections,
    sizes: prepared.map(({ server, size }) => ({ ...size, peakMemoryMb: server.usage().peakMemoryMb })),
    samples,
  };
}

interface Place {
  readonly folder: string;
  readonly servers: AsyncDisposableStack;
  readonly careful: boolean;
}

interface Prepared {
  readonly size: Size;
  readonly server: ServerProcess;
  readonly keys: readonly string[];
}

async function prepare(
  { folder, servers, careful }: Place,
  name: string,
  animals: number,
  accounts: number,
): Promise<Prepared> {
  progress(`preparing ${name}`);
  const fileName = name.replaceAll(/\W/g, '-');
  const store = embeddedStore(folder, fileName);
  await fill(store, animals);
  const keys = await issueKeys(store, accounts);
  const firstAnswerMs = await timeStarts(store, keys[0] ?? '', careful);
  const server = servers.use(await startService(store, keys[0] ?? ''));
  const startedMemoryMb = server.usage().peakMemoryMb;
  const fileMb = statSync(join(folder, `${fileName}.db`)).size / 2 ** 20;
  const size = {
    name,
    animals,
    accounts,
    fileMb,
    firstAnswerMs,
    startedMemoryMb,
    peakMemoryMb: startedMemoryMb,
  };
  return { size, server, keys };
}

async function timeStarts(store: StoreSettings, key: string, careful: boolean): Promise<number> {
  const times: number[] = [];
  for (let start = 0; start < (careful ? starts : 1); start++) {
    if (careful) await waitUntilQuiet(restTimeoutMs);
    await using server = await startService(store, key);
    times.push(server.firstAnswerMs);
  }
  return median(times);
}

const cached: Scenario = {
  name: 'cached',
  title: 'from the cache',
  status: 200,
  plan: ({ addressing: { list } }) => [get(list)],
};

const uncached: Scenario = {
  name: 'uncached',
  title: 'not from the cache',
  status: 200,
  plan: ({ addressing: { list } }) =>
    Array.from({ length: manySpellings }, (_, spelling) =>
      get({ ...list, target: spelled(list.target, spelling) }),
    ),
};

function casesOf({ size, server, keys }: Prepared): Case[] {
  const [key = ''] = keys;
  const measurable = (name: string, target: string): Measurable => ({
    contender: { name },
    server,
    addressing: { list: { target, key }, pet: () => ({ target, key }), create: { target, key } },
  });
  if (size.accounts > 1) return [{ scenario: everyKey(keys), running: measurable(size.name, listTarget) }];
  const pages = [
    measurable(`${size.name}, first`, listTarget),
    measurable(`${size.name}, last`, deepestTarget(size.animals)),
  ];
  return pages.flatMap((running) => [
    { scenario: uncached, running },
    { scenario: cached, running },
  ]);
}

/** Returns a scenario in which each request uses a different account. */
function everyKey(keys: readonly string[]): Scenario {
  const requests = keys.map((key): PlannedRequest => get({ target: listTarget, key }));
  return { name: 'accounts', title: 'accounts in turn', status: 200, plan: () => requests };
}

/** Returns the URL of the page with the last 20 available animals. */
function deepestTarget(count: number): string {
  let available = 0;
  let id = count;
  // The page starts after the 21st available animal from the end.
  for (; id > 0; id--) if (animal(id - 1).status === 'available' && ++available > 20) break;
  return `${listTarget}&cursor=${encodeCursor({ after: BigInt(id), filters: 'available' })}`;
}

/**
 * Maximum ratio of the cost of the last page in the largest store to the cost of the first page in the smallest store.
 */
const maxGrowth = 1.1;
/** Maximum ratio of the cost per request with 100,000 accounts to the cost with 10 accounts. */
const maxAccountCost = 1.3;
const latestFirstAnswerMs = 150;

export function growthMarkdown(results: GrowthResults): string {
  const { sizes, samples } = results;
  const byAnimals = sizes.filter(({ accounts }) => accounts === 1);
  const byAccounts = sizes.filter(({ accounts }) => accounts > 1);
  return [
    `${describeConditions(results)}`,
    goalsTable(goalsOf(results), samples),
    '### By number of animals and page depth (20 available animals per page)',
    costTable(
      samples,
      byAnimals.flatMap(({ name }) => [`${name}, first`, `${name}, last`]),
      ['uncached', 'cached'],
    ),
    '### By number of accounts (a cached list page, with a different account for each request)',
    costTable(
      samples,
      byAccounts.map(({ name }) => name),
      ['accounts'],
    ),
    '### Size',
    sizeTable(sizes),
  ].join('\n\n');
}

function goalsOf({ sizes, samples }: GrowthResults): Goal[] {
  const byAnimals = sizes.filter(({ accounts }) => accounts === 1);
  const [smallest, largest] = [byAnimals[0], byAnimals.at(-1)];
  const byAccounts = sizes.filter(({ accounts }) => accounts > 1);
  const costOf = (contender: string) =>
    median(samplesOf(samples, { contender, scenario: 'uncached' }).map(cost));
  const growth = costOf(`${largest?.name}, last`) / costOf(`${smallest?.name}, first`);
  const start = sizes.find(({ animals }) => animals === 100_000)?.firstAnswerMs ?? Number.NaN;
  return [
    atMost(
      maxGrowth,
      `CPU time per uncached page, last of ${largest?.name} vs. first of ${smallest?.name}`,
      growth,
    ),
    accountsGoal(samples, byAccounts[0]?.name, byAccounts.at(-1)?.name),
    {
      text: 'Time from process start to first response, with 100,000 animals',
      wanted: `≤ ${latestFirstAnswerMs} ms`,
      measured: `${start.toFixed(0)} ms`,
      met: start <= latestFirstAnswerMs,
    },
  ];
}

/** Goal for the cost per request with many accounts. Ratios are computed within each round. */
function accountsGoal(samples: readonly Sample[], few = '', many = ''): Goal {
  const side = (contender: string) => ({ scenario: 'accounts', contender });
  const measured = ratio(samples, cost, side(many), side(few));
  return atMost(maxAccountCost, `CPU time per list page, ${many} vs. ${few}`, measured);
}

function costTable(
  samples: readonly Sample[],
  names: readonly string[],
  scenarios: readonly string[],
): string {
  const heading = (scenario: string) => (scenarios.length > 1 ? `, ${scenario}` : '');
  return table(
    [
      '',
      ...scenarios.flatMap((scenario) => [
        `requests/s${heading(scenario)}`,
        `p99 ms${heading(scenario)}`,
        `CPU µs/request${heading(scenario)}`,
      ]),
    ],
    names.map((contender) => [
      contender,
      ...scenarios.flatMap((scenario) => {
        const own = samplesOf(samples, { contender, scenario });
        return [
          Math.round(median(own.map((sample) => sample.requestsPerSecond))).toLocaleString('en'),
          median(own.map((sample) => sample.p99Ms)).toFixed(2),
          median(own.map(cost)).toFixed(1),
        ];
      }),
    ]),
  );
}

function sizeTable(sizes: readonly Size[]): string {
  return table(
    ['', 'animals', 'accounts', 'file MB', 'first response ms', 'memory after start MB', 'peak memory MB'],
    sizes.map(({ name, animals, accounts, ...size }) => [
      name,
      animals.toLocaleString('en'),
      accounts.toLocaleString('en'),
      size.fileMb.toFixed(0),
      size.firstAnswerMs.toFixed(0),
      size.startedMemoryMb.toFixed(0),
      size.peakMemoryMb.toFixed(0),
    ]),
  );
}
