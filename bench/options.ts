import { parseArgs } from 'node:util';
import { type ClusterStore, clusterOf } from './cluster.ts';
import { peerNames } from './peers.ts';
import { scenarios } from './scenarios.ts';

/** Animals in every store, unless the growth of the cost is measured. */
export const animalCount = 100_000;

export const contenderNames: readonly string[] = ['animal-store', 'nginx', 'bun-constant', ...peerNames];

const loadNames = scenarios.map(({ name }) => name);

/** What is measured: the service against others, how its cost grows, with filters as well, what a slow disk or distant servers do, or what more workers or instances add. */
export type Measurement = 'comparison' | 'growth' | 'filters' | 'disk' | 'workers' | 'scaling' | 'distance';

export interface Options {
  /** One after the other. */
  readonly measurements: readonly Measurement[];
  readonly rounds: number;
  /** Length of one run. */
  readonly seconds: number;
  /** Whether servers are warmed up, and runs wait for rest and are repeated when others disturbed them. */
  readonly careful: boolean;
  /** The contenders measured; the service always is. */
  readonly only: readonly string[];
  /** The loads measured, by name. */
  readonly loads: readonly string[];
  /** Where a store on PostgreSQL and Redis may be made, to measure an instance on it besides. */
  readonly cluster: ClusterStore | undefined;
  /** Whether the results are written into the project. */
  readonly publish: boolean;
}

const help = `npm run bench -- [options]

Measures the service against nginx answering the same bytes, Bun answering a constant, and its peers, with
${animalCount.toLocaleString('en')} animals, in interleaved rounds, the server on one core and the load generator on another.
Writes bench/results/ and the figures in docs/performance.md.

  --all           the comparison and then everything that the next four options measure: 25 minutes
  --growth        measures instead how cost grows with animals and accounts, and the time to the first answer
  --filters       measures instead how the cost of each filter grows with animals and orders
  --disk          measures instead reads beside a writer, on disks whose syncs take 2 and 10 ms longer (on Linux,
                  with strace)
  --scaling       measures instead what more workers of one service add and take, each held to a quarter of a core
                  (as root, on Linux); with --postgres and --redis, what more instances add
  --distance      measures instead writes of one and three instances whose PostgreSQL and Redis (--postgres and --redis)
                  respond 0, 2 and 10 ms later
  --quick         one round of one second each, without care, written nowhere: a smoke check
  --rounds N      rounds (default 4)
  --seconds S     length of each run in whole seconds (default 2)
  --only A,B,…    only these besides the service: ${contenderNames.slice(1).join(', ')};
                  written nowhere
  --loads A,B,…   only these loads: ${loadNames.join(', ')};
                  written nowhere
  --postgres URL  measures besides an instance of the service on this PostgreSQL database, which must be empty
                  and is left filled,
  --redis URL     and this Redis
  --help          this text
`;

/** Undefined when help was asked for and given. Throws an `Error` that says what is wrong. */
export function readOptions(argv: string[]): Options | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      all: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      filters: { type: 'boolean', default: false },
      disk: { type: 'boolean', default: false },
      scaling: { type: 'boolean', default: false },
      distance: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      loads: { type: 'string' },
      postgres: { type: 'string' },
      redis: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return undefined;
  }
  return {
    measurements: measurementsOf(values),
    rounds: positive('--rounds', values.rounds ?? (values.quick ? '1' : '4')),
    seconds: positive('--seconds', values.seconds ?? (values.quick ? '1' : '2')),
    careful: !values.quick,
    only: known('--only', contenderNames, values.only),
    loads: known('--loads', loadNames, values.loads),
    cluster: clusterOf(values.postgres, values.redis),
    publish: !values.quick && values.only === undefined && values.loads === undefined,
  };
}

function measurementsOf(values: {
  all: boolean;
  growth: boolean;
  filters: boolean;
  disk: boolean;
  scaling: boolean;
  distance: boolean;
  postgres?: string | undefined;
}): Measurement[] {
  const several = values.postgres === undefined ? 'workers' : 'scaling';
  if (values.all)
    return ['comparison', 'growth', 'filters', 'disk', ...new Set(['workers', several] as const)];
  const named: [boolean, Measurement][] = [
    [values.growth, 'growth'],
    [values.filters, 'filters'],
    [values.disk, 'disk'],
    [values.scaling, several],
    [values.distance, 'distance'],
  ];
  const wanted = named.filter(([isWanted]) => isWanted).map(([, measurement]) => measurement);
  return wanted.length > 0 ? wanted : ['comparison'];
}

function positive(name: string, text: string): number {
  const value = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new Error(`${name} must be a whole number from 1 to 9999, not "${text}".`);
  return value;
}

function known(option: string, all: readonly string[], text: string | undefined): readonly string[] {
  if (text === undefined) return all;
  const names = text.split(',').filter((name) => name !== '');
  for (const name of names) {
    if (!all.includes(name)) throw new Error(`${option} knows ${all.join(', ')}, not "${name}".`);
  }
  return names;
}
