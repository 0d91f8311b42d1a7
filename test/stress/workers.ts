import { killWorkers } from '../process/worker-kills.ts';
import { startCluster } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, issueKey, type Service, startService } from '../support/process.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';

const workers = 4;
const environment = { WORKERS: String(workers) };

async function killsOf(
  service: Service,
  key: string,
  { rounds, seed, progress }: StressOptions,
): Promise<Figures> {
  const told = (kill: number) => progress(`kill ${kill} of ${rounds}`);
  const { failures, ...seen } = await killWorkers({ service, key, kills: rounds, seed, told });
  if (failures.length > 0) throw new Error(failures.slice(0, 10).join('\n'));
  service.signal('SIGTERM');
  const exitCode = await service.exited;
  if (exitCode !== 0) throw new Error(`The stop ended with ${exitCode}: ${service.stderr()}`);
  return {
    'requests answered': seen.answered,
    'animals acknowledged, all kept': seen.acknowledged,
    'requests cut off with their worker': seen.cutOff,
    'other failures': 0,
  };
}

function promiseOf(needs: string): string {
  return (
    `kill -9 of one of ${workers} workers under load cuts off its own connections only, loses no acknowledged animal, and the ` +
    `worker is replaced; ${needs} (rounds: kills)`
  );
}

export const workersTests: readonly StressTest[] = [
  {
    name: 'workers',
    promise: promiseOf('on the embedded store'),
    rounds: 200,
    async run(options) {
      await using folder = await temporaryFolder();
      await using service = await startService(folder.path, environment);
      return await killsOf(service, await issueKey(folder.path, 'enterprise', ample), options);
    },
  },
  {
    name: 'cluster-workers',
    promise: promiseOf('needs PostgreSQL and Redis'),
    rounds: 200,
    async run(options) {
      await using cluster = await startCluster({ instances: 0, environment });
      if (cluster === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
      const service = await cluster.startInstance();
      return await killsOf(service, (await cluster.issueKey()).key, options);
    },
  },
];
