import { killWorkers } from '../process/worker-kills.ts';
import { startCluster } from '../support/cluster.ts';
import type { StressTest } from './stress-test.ts';

const workers = 4;

export const workersTest: StressTest = {
  name: 'workers',
  promise:
    `kill -9 of one of ${workers} workers under load cuts off its own connections only, loses no acknowledged animal, and the ` +
    'worker is replaced; needs PostgreSQL and Redis (rounds: kills)',
  rounds: 200,
  async run({ rounds, seed, progress }) {
    await using cluster = await startCluster({ instances: 0, environment: { WORKERS: String(workers) } });
    if (cluster === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    const service = await cluster.startInstance();
    const { key } = await cluster.issueKey();
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
  },
};
