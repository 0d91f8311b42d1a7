import type { TaskResult } from './task-process.ts';

/**
 * Runs the task that the parent process sends. Calls `onParentExit` if the parent has exited. Throws if there is no
 * parent.
 */
export async function runParentTask(
  work: (task: unknown) => Promise<TaskResult>,
  onParentExit: (task: unknown) => void,
): Promise<void> {
  if (process.send === undefined) throw new Error('This command can be started only by animal-store itself.');
  const received = Promise.withResolvers<unknown>();
  process.once('message', received.resolve);
  process.once('disconnect', () => received.reject(new Error('The parent process has ended.')));
  const task = await received.promise;
  const answer = await work(task);
  // The task may have blocked the event loop, which delays the disconnect event.
  await new Promise((heard) => setImmediate(heard));
  if (!process.connected) return onParentExit(task);
  process.send(answer);
  process.disconnect?.();
}
