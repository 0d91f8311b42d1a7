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

/**
 * Does one task in a process of its own, which `command` starts and `receiveTask` answers in. It is killed when `signal`
 * aborts. Rejects with `TaskFailed` or `TaskEnded`.
 */
export async function runTask(
  command: readonly string[],
  task: unknown,
  signal?: AbortSignal,
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
  try {
    if (signal?.aborted) kill();
    else child.send(task);
    await child.exited;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
  if (answer?.kind === 'done') return answer.result;
  if (answer?.kind === 'failed') throw new TaskFailed(answer.failure);
  throw new TaskEnded(
    `The process ended without a result (${child.signalCode ?? `exit code ${child.exitCode}`}).`,
  );
}
