import type { TaskAnswer } from './task-process.ts';

/**
 * Waits for the task that this process was started for, does it and answers. `lost` is called instead of the answer when
 * the process that asked is gone: nobody will clean up then. Throws when no process started this one.
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
  // While it works nothing is heard; that the other side has ended is heard now.
  await new Promise((heard) => setImmediate(heard));
  if (!process.connected) return lost(task);
  process.send(answer);
  process.disconnect?.();
}
