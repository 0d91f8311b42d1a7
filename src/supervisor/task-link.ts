import type { TaskAnswer } from './task-process.ts';

/**
 * Performs the task of the parent process. Calls `lost` if the parent has ended. Throws if there is no
 * parent.
 */
export async function answerTask(
  work: (task: unknown) => Promise<TaskAnswer>,
  lost: (task: unknown) => void,
): Promise<void> {
  if (process.send === undefined) throw new Error('This command is started by animal-store itself.');
  const received = Promise.withResolvers<unknown>();
  process.once('message', received.resolve);
  process.once('disconnect', () => received.reject(new Error('The process that asked is gone.')));
  const task = await received.promise;
  const answer = await work(task);
  // The task may have blocked the event loop, so a disconnect may be noticed only now.
  await new Promise((heard) => setImmediate(heard));
  if (!process.connected) return lost(task);
  process.send(answer);
  process.disconnect?.();
}
