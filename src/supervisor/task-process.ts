import { readFileSync } from 'node:fs';

const progressIntervalMs = 100;

export type TaskResult =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly failure: TaskFailure };

interface TaskFailure {
  readonly message: string;
  readonly fault: string;
}

export class TaskFailedError extends Error {
  readonly fault: string;
  constructor({ message, fault }: TaskFailure) {
    super(message);
    this.fault = fault;
  }
}

/** The process exited without a response, for example because it was killed. */
export class TaskExitedError extends Error {}

interface TaskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called periodically with the number of bytes that the process has read; Linux only. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

/** `command` starts a process that calls `runParentTask`. Rejects with `TaskFailedError` or `TaskExitedError`. */
export async function runTask(
  command: readonly string[],
  task: unknown,
  { signal, onRead }: TaskOptions = {},
): Promise<unknown> {
  let answer: TaskResult | undefined;
  const child = Bun.spawn([...command], {
    stdio: ['ignore', 'ignore', 'inherit'],
    serialization: 'advanced',
    ipc: (message: TaskResult) => {
      answer = message;
    },
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  const timer = onRead && setInterval(() => onRead(readProcessBytes(child.pid)), progressIntervalMs);
  try {
    if (signal?.aborted) kill();
    else child.send(task);
    await child.exited;
  } finally {
    clearInterval(timer);
    signal?.removeEventListener('abort', kill);
  }
  if (answer?.kind === 'done') return answer.result;
  if (answer?.kind === 'failed') throw new TaskFailedError(answer.failure);
  throw new TaskExitedError(
    `The process ended without a result (${child.signalCode ?? `exit code ${child.exitCode}`}).`,
  );
}

/** Includes reads from the page cache; 0 if unknown. */
function readProcessBytes(pid: number): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
  } catch {
    return 0;
  }
}
