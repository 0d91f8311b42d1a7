import { temporaryFolder } from '../support/folder.ts';
import { ample, issueKey, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';

export interface DrainOptions {
  readonly clients: number;
  readonly seed: number;
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** 1 s unless given. */
  readonly drainSeconds?: number;
}

export interface DrainFigures {
  /** Requests answered after the signal. */
  readonly answered: number;
  /** Clients that were told to close, as all have to be. */
  readonly told: number;
  readonly failures: readonly string[];
  readonly exitCode: number;
  readonly stoppedAfterMs: number;
}

/** Longest pause of a client between two requests: below the shortest drain, so that each comes back within it. */
const longestPauseMs = 600;

/** Stops the service under keep-alive clients that are between two requests, and tells what they saw. */
export async function drainUnder({
  clients,
  seed,
  signal,
  drainSeconds = 1,
}: DrainOptions): Promise<DrainFigures> {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { DRAIN_SECONDS: `${drainSeconds}` });
  const key = await issueKey(folder.path, 'enterprise', ample);
  const random = randomFrom(seed);
  const failures: string[] = [];
  let signalledAt = Number.POSITIVE_INFINITY;
  let answered = 0;
  let begun = 0;
  let told = 0;

  const client = async (): Promise<void> => {
    using connection = await Connection.open(service.url);
    for (let first = true; ; first = false) {
      const reply = await connection.get('/v1/pets', key);
      if (first) begun++;
      if (reply.status !== 200) failures.push(`answered ${reply.status}`);
      if (performance.now() > signalledAt) answered++;
      if (reply.closes) {
        told++;
        return;
      }
      await Bun.sleep(random() * longestPauseMs);
    }
  };
  const all = Array.from({ length: clients }, () =>
    client().catch((error: Error) => void failures.push(error.message)),
  );
  await until(() => begun === clients || failures.length > 0);
  signalledAt = performance.now();
  service.signal(signal);
  await Promise.all(all);
  const exitCode = await service.exited;
  return { answered, told, failures, exitCode, stoppedAfterMs: performance.now() - signalledAt };
}
