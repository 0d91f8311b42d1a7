import { parseArgs } from 'node:util';
import { type ClusterStore, clusterOf } from './cluster.ts';
import { floor } from './limits.ts';
import { peerNames } from './peers.ts';
import { scenarios } from './scenarios.ts';

/** Number of animals in every store, except when growth is measured. */
export const animalCount = 100_000;

export const contenderNames: readonly string[] = ['animal-store', 'nginx', floor, ...peerNames];

const loadNames = scenarios.map(({ name }) => name);

/**
 * Subject of a measurement: the service against others, its cost as it grows, its filters, a slow disk, distant
 * servers, or more workers or instances.
 */
export type Measurement = 'comparison' | 'growth' | 'filters' | 'disk' | 'workers' | 'scaling' | 'distance';

export interface Options {
  /** One after the other. */
  readonly measurements: readonly Measurement[];
  readonly rounds: number;
  /** Length of one run. */
  readonly seconds: number;
  /** Whether servers are warmed up, runs wait for an idle machine, and disturbed runs are repeated. */
  readonly careful: boolean;
  /** The measured contenders. The service is always measured. */
  readonly only: readonly string[];
  /** Names of the measured loads. */
  readonly loads: readonly string[];
  /** PostgreSQL and Redis for an instance that is measured as well. */
  readonly cluster: ClusterStore | undefined;
  /** Whether to write the results into the project. */
  readonly publish: boolean;
}

const help = `npm run bench -- [options]

Measures the service against nginx answering the same bytes, the least a server on Bun can do, and its peers, with
${animalCount.toLocaleString('en')} animals, in interleaved rounds, the server on one core and the load generator on another.
Writes bench/results/.

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

/** Returns undefined after printing help. Throws an `Error` that describes the mistake. */
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
