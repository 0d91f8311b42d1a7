import { temporaryFolder } from '../support/folder.ts';
import { ample, issueKey, type Service, startService } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';

interface DrainOptions {
  readonly clients: number;
  readonly signal: 'SIGTERM' | 'SIGINT';
  /** Defaults to `ownService`. */
  readonly begin?: BeginDrained;
}

/** Starts a service with these settings, which the test then stops. */
export type BeginDrained = (settings: Readonly<Record<string, string>>) => Promise<Drained>;

interface Drained extends AsyncDisposable {
  readonly service: Service;
  /** Key of an account whose quota is too high to reach. */
  readonly key: string;
}

/** Starts a service on a new store. */
export const ownService: BeginDrained = async (settings) => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const service = started.use(await startService(folder.path, settings));
  const key = await issueKey(folder.path, 'enterprise', ample);
  const kept = started.move();
  return { service, key, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

interface DrainResult {
  /** Number of responses after the signal. */
  readonly answered: number;
  /** Number of clients whose connection was closed after a response. This should be all clients. */
  readonly closed: number;
  readonly failures: readonly string[];
  readonly exitCode: number;
}

/** Stops the service while keep-alive clients are idle between two requests. Returns what the clients observed. */
export async function drainUnder({
  clients,
  signal,
  begin = ownService,
}: DrainOptions): Promise<DrainResult> {
  await using drained = await begin({ DRAIN_SECONDS: '5' });
  const { service, key } = drained;
  const failures: string[] = [];
  const signalled = Promise.withResolvers<void>();
  let begun = 0;
  let answered = 0;
  let closed = 0;

  const client = async (): Promise<void> => {
    using connection = await Connection.open(service.url);
    const ask = async () => {
      const { status, closes } = await connection.get('/v1/pets', key);
      if (status !== 200) failures.push(`answered ${status}`);
      return closes;
    };
    await ask();
    begun++;
    await signalled.promise;
    for (let closes = false; !closes; answered++) {
      closes = await ask();
    }
    closed++;
  };
  const all = Array.from({ length: clients }, () =>
    client().catch((error: Error) => void failures.push(error.message)),
  );
  await until(() => begun === clients || failures.length > 0);
  service.signal(signal);
  signalled.resolve();
  await Promise.all(all);
  const exitCode = await service.exited;
  return { answered, closed, failures, exitCode };
}
