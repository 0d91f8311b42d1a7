import { temporaryFolder } from '../support/folder.ts';
import { ample, issueKey, type Service, startService } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';

export interface DrainOptions {
  readonly clients: number;
  readonly seed: number;
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** 1 s unless given. */
  readonly drainSeconds?: number;
  /** `ownService` unless given. */
  readonly begin?: BeginDrained;
}

/** Starts a service under these settings that a test then stops. */
export type BeginDrained = (settings: Readonly<Record<string, string>>) => Promise<Drained>;

export interface Drained extends AsyncDisposable {
  readonly service: Service;
  /** Of an account that no load exhausts. */
  readonly key: string;
}

/** The service on a store of its own. */
export const ownService: BeginDrained = async (settings) => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const service = started.use(await startService(folder.path, settings));
  const key = await issueKey(folder.path, 'enterprise', ample);
  const kept = started.move();
  return { service, key, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

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
  begin = ownService,
}: DrainOptions): Promise<DrainFigures> {
  await using drained = await begin({ DRAIN_SECONDS: `${drainSeconds}` });
  const { service, key } = drained;
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
