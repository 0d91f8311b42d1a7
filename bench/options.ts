import { parseArgs } from 'node:util';
import { type ClusterStore, createCluster } from './cluster.ts';
import { floor } from './limits.ts';
import { peerNames } from './peers.ts';
import { scenarios } from './scenarios.ts';

/** Number of animals in each store, except when growth is measured. */
export const animalCount = 100_000;

const contenderNames: readonly string[] = ['animal-store', 'nginx', floor, ...peerNames];

const loadNames = scenarios.map(({ name }) => name);

/**
 * Kind of measurement: comparison with other servers, growth of cost, filters, a slow disk, network latency, or
 * additional workers or instances.
 */
export type Measurement = 'comparison' | 'growth' | 'filters' | 'disk' | 'workers' | 'scaling' | 'distance';

export interface Options {
  /** Measurements to run, one after the other. */
  readonly measurements: readonly Measurement[];
  readonly rounds: number;
  /** Length of one run. */
  readonly seconds: number;
  /** Whether to warm up servers, wait for an idle machine before runs, and repeat disturbed runs. */
  readonly careful: boolean;
  /** Contenders to measure. The service is always measured. */
  readonly only: readonly string[];
  /** Names of the loads to measure. */
  readonly loads: readonly string[];
  /** PostgreSQL and Redis servers of an additional instance to measure. */
  readonly cluster: ClusterStore | undefined;
  /** Whether to write the results into the project. */
  readonly publish: boolean;
}

const help = `npm run bench -- [options]

Compares the service with nginx and a minimal Bun server that send the same bytes, and with other frameworks, using
${animalCount.toLocaleString('en')} animals, in interleaved rounds. The server and the load generator run on separate cores.
Writes bench/results/.

  --all           run the comparison and the measurements of the next four options (25 minutes)
  --growth        measure the time to the first response, and how cost grows with animals and accounts
  --filters       measure how the cost of each filter grows with animals and orders
  --disk          measure reads with a concurrent writer, on disks with 2 and 10 ms slower syncs (requires Linux and
                  strace)
  --scaling       measure the speedup and cost of more workers, each limited to a quarter of a core (requires Linux and
                  root); with --postgres and --redis, the speedup of more instances
  --distance      measure writes with one and three instances, at 0, 2 and 10 ms of latency to PostgreSQL and Redis
                  (--postgres and --redis)
  --quick         smoke test: one round of one second, without waiting for an idle machine; writes no results
  --rounds N      number of rounds (default 4)
  --seconds S     length of each run in whole seconds (default 2)
  --only A,B,…    compare only with these: ${contenderNames.slice(1).join(', ')};
                  writes no results
  --loads A,B,…   only these loads: ${loadNames.join(', ')};
                  writes no results
  --postgres URL  also measure an instance on this PostgreSQL database, which must be empty; the run leaves data
                  in it
  --redis URL     Redis for this instance
  --help          show this help
`;

/** Parses the options. Returns undefined after printing the help. Throws an `Error` for invalid options. */
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
    measurements: measurementsOf(values, values.postgres),
    rounds: positive('--rounds', values.rounds ?? (values.quick ? '1' : '4')),
    seconds: positive('--seconds', values.seconds ?? (values.quick ? '1' : '2')),
    careful: !values.quick,
    only: known('--only', contenderNames, values.only),
    loads: known('--loads', loadNames, values.loads),
    cluster: createCluster(values.postgres, values.redis),
    publish: !values.quick && values.only === undefined && values.loads === undefined,
  };
}

function measurementsOf(
  values: Readonly<Record<'all' | 'growth' | 'filters' | 'disk' | 'scaling' | 'distance', boolean>>,
  postgres: string | undefined,
): Measurement[] {
  const several = postgres === undefined ? 'workers' : 'scaling';
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
