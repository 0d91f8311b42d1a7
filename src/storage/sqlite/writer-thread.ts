/** The thread that writes to the data file, so that no request waits for the sync of another's. */
import type { Port } from '../port.ts';
import type { Units } from '../transaction.ts';
import { WriteServer } from '../writer-port.ts';
import { dataFormat } from './migrations.ts';
import { openWriter } from './open-writer.ts';

/** What the thread is told first; `close` is the last, and is answered with `closed`. */
export interface ThreadTask {
  /** The data file. */
  readonly path: string;
  /** How long a write waits for its commit, in milliseconds. */
  readonly timeoutMs: number;
}

declare const self: Worker;

/** Runs in the thread, with all the units of work there are. */
export function runWriterThread(units: Units): void {
  self.onmessage = ({ data }: MessageEvent<ThreadTask>) => {
    const writer = openWriter({ ...data, format: dataFormat, units });
    const port: Port = {
      post: (message) => self.postMessage(message),
      listen: (handler) => {
        self.onmessage = ({ data: message }: MessageEvent<unknown>) => {
          if (message !== 'close') handler(message);
          else void writer[Symbol.asyncDispose]().then(() => self.postMessage('closed'));
        };
      },
    };
    new WriteServer(writer).serve(port);
  };
}
