import { type PowerFigures, powerLosses, recordAnimals } from '../faults/power.ts';
import type { StressTest } from './stress-test.ts';

/** A new store, from its first call on; and a busy one, through several checkpoints of the write-ahead log. */
const runs = [
  { animals: 40, part: 0.1 },
  { animals: 1_200, part: 0.9 },
] as const;

export const power: StressTest = {
  name: 'power',
  promise:
    'power loss at any call, with unsynced writes lost, kept or torn at sectors, damages no file and loses nothing ' +
    'acknowledged; needs strace (rounds: states of the disk)',
  rounds: 10_500,
  async run({ rounds, seed, progress }) {
    const total: PowerFigures = {
      cuts: 0,
      states: 0,
      acknowledged: 0,
      unacknowledged: 0,
      strict: 0,
      mostUncounted: 0,
    };
    let checkpoints = 0;
    let mostUncounted = 0;
    for (const { animals, part } of runs) {
      const recording = await recordAnimals(animals, seed);
      const figures = await powerLosses(recording, { states: Math.ceil(rounds * part), seed, progress });
      for (const name of Object.keys(total) as (keyof PowerFigures)[]) total[name] += figures[name];
      mostUncounted = Math.max(mostUncounted, figures.mostUncounted);
      const isCheckpoint = ({ kind, path }: { kind: string; path?: string }) =>
        kind === 'sync' && path === 'store.db';
      checkpoints += recording.events.filter(isCheckpoint).length;
    }
    return {
      states: total.states,
      'calls the power went at': total.cuts,
      'syncs of the data file (checkpoints, and the first start)': checkpoints,
      'animals acknowledged': total.acknowledged,
      'damaged or lost': 0,
      'states in which limits were torn, and counted as used up': total.strict,
      'most requests counted since the last sync and lost': mostUncounted,
    };
  },
};
