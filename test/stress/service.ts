import { scopes } from '../../src/domain/scope.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, operatorOf, startService } from '../support/process.ts';

/** The service in a separate process, with an account whose limits are too high to reach. */
export interface ProvingService extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** A key with all scopes. */
  readonly key: string;
  /** A key of the same account that has no scopes. */
  readonly poorKey: string;
  readonly folder: string;
  /** Throws an error with the last output if the process has exited. */
  checkRunning(): void;
}

export async function provingService(
  settings: Readonly<Record<string, string>> = {},
): Promise<ProvingService> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const process = started.use(
    await startService(folder.path, {
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'warn',
      AUTH_FAILURES_PER_MINUTE: '1000000000',
      ...settings,
    }),
  );
  const { key, poorKey } = await issueKeys(folder.path);
  let ended: number | undefined;
  void process.exited.then((code) => {
    ended = code;
  });
  const kept = started.move();
  return {
    url: process.url,
    pid: process.pid,
    key,
    poorKey,
    folder: folder.path,
    checkRunning() {
      if (ended === undefined) return;
      throw new Error(`the service ended with ${ended}: ${process.stderr().slice(-2_000)}`);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function issueKeys(folder: string): Promise<{ key: string; poorKey: string }> {
  await using operator = await operatorOf(folder);
  const { id } = await operator.accounts.create('shop', 'enterprise', ample);
  const { key } = await operator.keys.create(id, 'owner', undefined, scopes);
  const { key: poorKey } = await operator.keys.create(id, 'nobody', undefined, []);
  return { key, poorKey };
}
