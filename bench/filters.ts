/** Measures and reports how the cost of each filter grows with animals and orders, on the first and the last page. */
import { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCursor, encodeFilters } from '../src/contract/cursor.ts';
import { get } from './contender.ts';
import { type FilterTarget, fillOrders, filterTargets, spelled } from './filter-targets.ts';
import { atMost } from './goals.ts';
import { connections } from './load.ts';
import { type Conditions, readConditions } from './machine.ts';
import type { Sample } from './measure.ts';
import type { Options } from './options.ts';
import { describeConditions, goalsTable, table } from './report.ts';
import { type Case, runRounds } from './rounds.ts';
import type { ServerProcess } from './server-process.ts';
import { embeddedStore, fill, issueKeys, startService } from './service.ts';
import { median } from './statistics.ts';
import { cost, ratio, samplesOf } from './summary.ts';
import { progress } from './terminal.ts';

/** Number of rows in a store. */
interface StoreSize {
  readonly animals: number;
  readonly orders: number;
  readonly fileMb: number;
}

interface FilterResults extends Conditions {
  readonly connections: number;
  readonly sizes: readonly StoreSize[];
  /** In each sample, `scenario` is the target's name, and `contender` is the store's size. */
  readonly samples: readonly Sample[];
}

const small = { animals: 1_000, orders: 1_000 } as const;
const large = { animals: 10_000_000, orders: 1_000_000 } as const;
const quickLarge = { animals: 20_000, orders: 2_000 } as const;

export async function measureFilters(options: Options, folder: string): Promise<FilterResults> {
  await using servers = new AsyncDisposableStack();
  const prepared: Prepared[] = [];
  for (const counts of [small, options.careful ? large : quickLarge]) {
    prepared.push(await prepare(folder, servers, counts));
  }
  // For each target, the two stores are measured back to back, so that a disturbance affects both.
  const cases = filterTargets.flatMap((target) => prepared.map((one) => caseOf(target, one)));
  const samples = await runRounds(options, folder, small.animals, cases);
  return {
    ...readConditions(options, folder),
    connections,
    sizes: prepared.map(({ size }) => size),
    samples,
  };
}

interface Prepared {
  readonly size: StoreSize;
  readonly server: ServerProcess;
  readonly key: string;
  readonly file: string;
}

async function prepare(
  folder: string,
  servers: AsyncDisposableStack,
  { animals, orders }: Omit<StoreSize, 'fileMb'>,
): Promise<Prepared> {
  progress(`preparing ${animals.toLocaleString('en')} animals and ${orders.toLocaleString('en')} orders`);
  const name = `filters-${animals}`;
  const store = embeddedStore(folder, name);
  const file = join(folder, `${name}.db`);
  await fill(store, animals);
  fillOrders(file, orders);
  const [key = ''] = await issueKeys(store, 1);
  const server = servers.use(await startService(store, key));
  return { size: { animals, orders, fileMb: statSync(file).size / 2 ** 20 }, server, key, file };
}

/** Returns the name under which the samples of a store are reported. */
const sizeName = ({ animals }: Pick<StoreSize, 'animals'>) => animals.toLocaleString('en');

function caseOf(target: FilterTarget, { size, server, key, file }: Prepared): Case {
  const address = addressOf(target, size, file);
  const requests = Array.from({ length: target.spellings }, (_, spelling) =>
    get({ target: spelled(address, spelling), key }),
  );
  const request = { target: address, key };
  return {
    scenario: { name: target.name, title: target.name, status: 200, plan: () => requests },
    running: {
      contender: { name: sizeName(size) },
      server,
      addressing: { list: request, pet: () => request, create: request },
    },
  };
}

function addressOf({ path, query, after }: FilterTarget, size: StoreSize, file: string): string {
  const { limit, ...filters } = query(size);
  const parameters: [string, string | number][] = Object.entries({ ...(limit && { limit }), ...filters });
  if (after !== undefined) {
    using database = new Database(file, { readonly: true });
    const [row] = database
      .query<{ id: number }, []>(`${after} ORDER BY id DESC LIMIT 1 OFFSET ${limit}`)
      .all();
    parameters.push([
      'cursor',
      encodeCursor({ filters: encodeFilters(path, filters), after: BigInt(row?.id ?? 0) }),
    ]);
  }
  return `/v1${path}?${parameters.map(([name, value]) => `${name}=${value}`).join('&')}`;
}

/** Maximum ratio of a filter's cost in the larger store to its cost in the smaller store. */
const maxGrowth = 1.2;

export function filtersMarkdown(results: FilterResults): string {
  const { sizes, samples } = results;
  const [small, large] = sizes;
  if (small === undefined || large === undefined) throw new Error('There are two sizes.');
  const rows = filterTargets.map(({ name }) => {
    const side = (size: typeof small) => ({ scenario: name, contender: sizeName(size) });
    const of = (size: typeof small) => median(samplesOf(samples, side(size)).map(cost));
    return {
      name,
      small: of(small),
      large: of(large),
      growth: ratio(samples, cost, side(large), side(small)),
    };
  });
  const worst = rows.reduce((most, row) => (row.growth > most.growth ? row : most));
  const text = `CPU time per uncached request, ${said(large)} vs. ${said(small)}; largest growth: ${worst.name}`;
  return [
    describeConditions(results),
    goalsTable([atMost(maxGrowth, text, worst.growth)], samples),
    table(
      ['CPU µs/request', said(small), said(large), 'growth'],
      rows.map((row) => [row.name, row.small.toFixed(1), row.large.toFixed(1), `${row.growth.toFixed(2)} ×`]),
    ),
  ].join('\n\n');
}

const said = ({ animals, orders }: { animals: number; orders: number }) =>
  `${animals.toLocaleString('en')} animals and ${orders.toLocaleString('en')} orders`;
