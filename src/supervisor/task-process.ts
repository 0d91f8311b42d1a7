import { readFileSync } from 'node:fs';

/** How often it is looked how much a process has read. */
const lookEveryMs = 100;

/** What a process that does one task is told, and what it answers. */
export type TaskAnswer =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly failure: TaskFailure };

/** Why a task failed, in words and as a word. */
export interface TaskFailure {
  readonly message: string;
  readonly fault: string;
}

/** The task failed, and the process said why. */
export class TaskFailed extends Error {
  readonly fault: string;
  constructor({ message, fault }: TaskFailure) {
    super(message);
    this.fault = fault;
  }
}

/** The process ended without an answer: it was killed, also by `signal`. */
export class TaskEnded extends Error {}

export interface TaskOptions {
  /** Kills the process. */
  readonly signal?: AbortSignal | undefined;
  /** Is told now and then how many bytes the process has read, on Linux. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

/**
 * Does one task in a process of its own, which `command` starts and `answerTask` answers in. Rejects with `TaskFailed` or
 * `TaskEnded`.
 */
export async function runTask(
  command: readonly string[],
  task: unknown,
  { signal, onRead }: TaskOptions = {},
): Promise<unknown> {
  let answer: TaskAnswer | undefined;
  const child = Bun.spawn([...command], {
    stdio: ['ignore', 'ignore', 'inherit'],
    serialization: 'advanced',
    ipc: (message: TaskAnswer) => {
      answer = message;
    },
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  const timer = onRead && setInterval(() => onRead(bytesReadBy(child.pid)), lookEveryMs);
  try {
    if (signal?.aborted) kill();
    else child.send(task);
    await child.exited;
  } finally {
    clearInterval(timer);
    signal?.removeEventListener('abort', kill);
  }
  if (answer?.kind === 'done') return answer.result;
  if (answer?.kind === 'failed') throw new TaskFailed(answer.failure);
  throw new TaskEnded(
    `The process ended without a result (${child.signalCode ?? `exit code ${child.exitCode}`}).`,
  );
}

/** With what the system had in memory; 0 where that cannot be told. */
function bytesReadBy(pid: number): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
  } catch {
    return 0;
  }
}
