/**
 * Measures the time to the first response, and how cost grows with page depth and the numbers of animals and accounts.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCursor } from '../src/contract/cursor.ts';
import { animal } from './animals.ts';
import { get } from './contender.ts';
import { manySpellings, spelled } from './filter-targets.ts';
import { connections, type PlannedRequest } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Measurable, Sample } from './measure.ts';
import { animalCount, type Options } from './options.ts';
import { type Case, runRounds } from './rounds.ts';
import type { Scenario } from './scenarios.ts';
import type { ServerProcess } from './server-process.ts';
import { embeddedStore, fill, issueKeys, listTarget, type StoreSettings, startService } from './service.ts';
import { median } from './statistics.ts';
import { progress } from './terminal.ts';
import { waitUntilQuiet } from './wait-until-quiet.ts';

/** Measurements of a store of a given size. */
export interface Size {
  readonly name: string;
  readonly animals: number;
  readonly accounts: number;
  readonly fileMb: number;
  /** Median time from process start to the first 200 response. */
  readonly firstAnswerMs: number;
  readonly startedMemoryMb: number;
  readonly peakMemoryMb: number;
}

export interface GrowthResults extends Conditions {
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
