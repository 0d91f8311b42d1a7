import { type DoubledStop, doubledStops, stopNpm } from '../process/npm-stop.ts';
import { stopUnderReconnecting } from '../process/reconnecting.ts';
import type { StressTest } from './stress-test.ts';

const reconnecting = 32;
/** Services that are stopped at once. */
const atOnce = 2;

export const stop: StressTest = {
  name: 'stop',
  promise:
    'Ctrl-C to the process group of npm start, and SIGTERM to npm and the service together, are one signal: the service ' +
    `drains; ${reconnecting} clients that reconnect for each request are answered or refused, none is cut off`,
  rounds: 50,
  async run({ rounds, progress }) {
    let stops = 0;
    for (const how of Object.keys(doubledStops) as DoubledStop[]) {
      for (let round = 0; round < rounds; round += atOnce) {
        const some = Array.from({ length: Math.min(atOnce, rounds - round) }, () => stopNpm(how));
        await Promise.all(some);
        stops += some.length;
        progress(`${how}: ${round + some.length} of ${rounds}`);
      }
    }
    let answered = 0;
    for (let round = 1; round <= rounds; round++) {
      const seen = await stopUnderReconnecting(reconnecting, round % 2);
      answered += seen.answered;
      progress(`${reconnecting} clients that reconnect: ${round} of ${rounds}`);
      if (seen.failures.length > 0 || seen.exitCode !== 0)
        throw new Error(`Round ${round}: ${JSON.stringify(seen)}`);
    }
    return {
      'doubled signals': stops,
      'stops under clients that reconnect': rounds,
      'their requests answered': answered,
      'cut off': 0,
    };
  },
};
