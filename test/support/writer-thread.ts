/** A thread that writes to an embedded store as in the service, and then waits for the next store. */
import { units } from '../../src/operations/units.ts';
import { runWriterThread } from '../../src/storage/sqlite/writer-thread.ts';

declare const self: Worker;

const post = self.postMessage.bind(self);
self.postMessage = (message: unknown) => {
  if (message === 'closed') runWriterThread(units);
  post(message);
};
runWriterThread(units);
