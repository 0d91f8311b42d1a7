/** Long runs of kills, power failures and failing system calls. test/faults and test/process contain short versions. */
import { killRounds } from '../faults/kill-rounds.ts';
import { powerLosses, recordAnimals } from '../faults/power.ts';
import { syscallFaults } from '../faults/syscalls.ts';
import { killWorkers } from '../process/worker-kills.ts';
import { embeddedStores, serverStores } from '../process/worker-stores.ts';
import { openOrThrow, type StressTest } from './stress-test.ts';

const killing = [
  ['kill', 'the service', 1, 2_000],
  ['kill-everything', 'a service with two workers, all its processes at once,', 2, 5_000],
] as const;

const kills = killing.map(
  ([name, what, workers, backWithinMs]): StressTest => ({
    name,
    promise:
      `kill -9 of ${what} under load loses no acknowledged animal, assigns no id twice, corrupts no file, counts every ` +
      `request exactly, and the service is back within ${backWithinMs / 1_000} s`,
    rounds: 1_000,
    run: async (options) => ({ ...(await killRounds({ ...options, workers, backWithinMs })) }),
  }),
);

const workers = 4;

const workerKills = [
  { name: 'workers', open: embeddedStores },
  { name: 'workers-cluster', open: serverStores },
].map(
  ({ name, open }): StressTest => ({
    name,
    promise:
      `kill -9 of one of ${workers} workers under load closes only that worker's connections, loses no acknowledged animal, ` +
      'counts every request exactly, and the worker is replaced (rounds: kills)',
    rounds: 200,
    async run({ rounds, seed, progress }) {
      await using stores = await openOrThrow(open);
      const service = await stores.startInstance({ WORKERS: String(workers) });
      const onKill = (kill: number) => progress(`kill ${kill} of ${rounds}`);
      const { failures, ...seen } = await killWorkers({ service, stores, kills: rounds, seed, onKill });
      if (failures.length > 0) throw new Error(failures.slice(0, 10).join('\n'));
      service.signal('SIGTERM');
      const exitCode = await service.exited;
      if (exitCode !== 0) throw new Error(`The service exited with ${exitCode}: ${service.stderr()}`);
      return seen;
    },
  }),
);

const syscalls: StressTest = {
  name: 'syscalls',
  promise:
    'EIO or ENOSPC at any system call of a create request or a checkpoint causes no wrong response, corrupts no ' +
    'file and loses nothing acknowledged; needs strace',
  rounds: 1,
  run: async ({ progress }) => ({ ...(await syscallFaults({ every: 1, checkpoints: true, progress })) }),
};

const power: StressTest = {
  name: 'power',
  promise:
    'power loss at any call, with unsynced writes lost, kept or torn at sector boundaries, corrupts no file and loses nothing ' +
    'acknowledged; needs strace (rounds: states of the disk)',
  rounds: 10_500,
  async run({ rounds, seed, progress }) {
    const states = (part: number) => Math.ceil(rounds * part);
    // Tests a new store from the first system call, and a busy store during several WAL checkpoints.
    const first = await powerLosses(await recordAnimals(40, seed), { states: states(0.1), seed, progress });
    const busy = await powerLosses(await recordAnimals(1_200, seed), { states: states(0.9), seed, progress });
    const figures = Object.entries(busy).map(([name, value]) => [`${name}, busy store`, value] as const);
    return { ...first, ...Object.fromEntries(figures) };
  },
};

export const faultTests: readonly StressTest[] = [...kills, ...workerKills, syscalls, power];
