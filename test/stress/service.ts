import { temporaryFolder } from '../support/folder.ts';
import { ample, issueKey, startService } from '../support/process.ts';

/** The real service in a process of its own, for tests that send more than any limit allows. */
export interface ProvingService extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** The key of an account with limits nobody reaches. */
  readonly key: string;
  readonly folder: string;
  /** Throws, with its last words, when the process has ended. */
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
  const key = await issueKey(folder.path, 'enterprise', ample);
  let ended: number | undefined;
  void process.exited.then((code) => {
    ended = code;
  });
  const kept = started.move();
  return {
    url: process.url,
    pid: process.pid,
    key,
    folder: folder.path,
    checkRunning() {
      if (ended === undefined) return;
      throw new Error(`the service ended with ${ended}: ${process.stderr().slice(-2_000)}`);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
