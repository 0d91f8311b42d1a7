import { clusterGround, embeddedGround, type Ground } from './buyers/ground.ts';
import { market } from './buyers/market.ts';
import type { Figures, StressTest } from './stress-test.ts';

const buyers = 200;
const animals = 1_000;

function buyersTest(name: string, where: string, open: () => Promise<Ground | undefined>): StressTest {
  return {
    name,
    promise:
      `${buyers} clients want the same ${animals} animals, ${where}: each is sold exactly once, each order is placed ` +
      'exactly once, and an animal is pending exactly while an open order holds it (rounds: kills)',
    rounds: 200,
    async run({ rounds, seed, progress }): Promise<Figures> {
      await using ground = await open();
      if (ground === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
      const figures = await market(ground, { buyers, animals, kills: rounds, seed, progress });
      const { counts } = figures;
      return {
        ...figures.kills,
        'races, each with exactly one buyer for each animal': figures.rounds,
        'orders in all, each told to one buyer': figures.orders,
        'requests answered': counts.answered,
        'tries without an answer': counts.unanswered,
        'tries answered 503': counts.unavailable,
        'repetitions of what was done': counts.replayed,
      };
    },
  };
}

export const buyersTests: readonly StressTest[] = [
  buyersTest(
    'buyers',
    'on the embedded store, while its two workers or all its processes are killed',
    embeddedGround,
  ),
  buyersTest(
    'buyers-cluster',
    'on three instances, while these are killed and PostgreSQL and Redis are stopped, killed and frozen',
    clusterGround,
  ),
];
