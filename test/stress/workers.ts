import { killWorkers } from '../process/worker-kills.ts';
import { embeddedStores, serverStores, type WorkerStores } from '../process/worker-stores.ts';
import type { StressTest } from './stress-test.ts';

const workers = 4;

function killing(name: string, where: string, open: () => Promise<WorkerStores | undefined>): StressTest {
  return {
    name,
    promise:
      `kill -9 of one of ${workers} workers under load cuts off its own connections only, loses no acknowledged animal, ` +
      `counts every request exactly, and the worker is replaced; ${where} (rounds: kills)`,
    rounds: 200,
    async run({ rounds, seed, progress }) {
      await using stores = await open();
      if (stores === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
      const service = await stores.startInstance({ WORKERS: String(workers) });
      const onKill = (kill: number) => progress(`kill ${kill} of ${rounds}`);
      const { failures, ...seen } = await killWorkers({ service, stores, kills: rounds, seed, onKill });
      if (failures.length > 0) throw new Error(failures.slice(0, 10).join('\n'));
      service.signal('SIGTERM');
      const exitCode = await service.exited;
      if (exitCode !== 0) throw new Error(`The stop ended with ${exitCode}: ${service.stderr()}`);
      return {
        'requests answered': seen.answered,
        'animals acknowledged, all kept': seen.acknowledged,
        'requests cut off with their worker': seen.cutOff,
        'of these charged': seen.chargedUnanswered,
        'accounts used up, each to its limit': seen.usedUp,
        'other failures': 0,
      };
    },
  };
}

export const workersTests: readonly StressTest[] = [
  killing('workers', 'on the embedded store', embeddedStores),
  killing('workers-cluster', 'needs PostgreSQL and Redis', serverStores),
];
