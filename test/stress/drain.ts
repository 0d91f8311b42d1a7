import { setTimeout as sleep } from 'node:timers/promises';
import { drainUnder } from '../process/drain.ts';
import { randomFrom } from '../support/random.ts';
import type { StressTest } from './stress-test.ts';

const clients = 32;
/** Below the shortest drain, so that each client comes back within it. */
const longestPauseMs = 600;

export const drain: StressTest = {
  name: 'drain',
  promise: `a stop lets no request of ${clients} keep-alive clients fail, tells each to close, and exits with 0 within 10 s`,
  rounds: 20,
  async run({ rounds, seed, progress }) {
    const random = randomFrom(seed);
    let requests = 0;
    let slowestStopMs = 0;
    for (let round = 1; round <= rounds; round++) {
      const signal = round % 2 === 0 ? 'SIGINT' : 'SIGTERM';
      const pause = () => sleep(random() * longestPauseMs);
      const seen = await drainUnder({ clients, signal, pause });
      requests += seen.answered;
      slowestStopMs = Math.max(slowestStopMs, Math.round(seen.stoppedAfterMs));
      progress(`round ${round} of ${rounds}: ${seen.answered} answered, ${seen.failures.length} failed`);
      if (
        seen.failures.length > 0 ||
        seen.closed !== clients ||
        seen.exitCode !== 0 ||
        slowestStopMs > 10_000
      ) {
        throw new Error(`Round ${round}: ${JSON.stringify(seen)}`);
      }
    }
    return { 'requests answered while draining': requests, failed: 0, 'slowest stop in ms': slowestStopMs };
  },
};
