/** A thread that writes to the data file, so that the disk sync of a write does not delay other requests. */

import type { StoreIdentity } from '../../store-files/file-identity.ts';
import type { MessagePortLike } from '../storage.ts';
import type { Units } from '../transaction.ts';
import { WriteServer } from '../writer-port.ts';
import { dataMigrations } from './migrations.ts';
import { SqliteWriter } from './writer.ts';

/** The first message to the thread. The last message is `close`, to which the thread replies `closed`. */
export interface ThreadTask {
  readonly path: string;
  readonly identity: StoreIdentity;
  readonly events: boolean | undefined;
  /** Time limit for a write to be committed, in milliseconds. */
  readonly timeoutMs: number;
}

declare const self: Worker;

export function runWriterThread(units: Units): void {
  self.onmessage = ({ data }: MessageEvent<ThreadTask>) => {
    const writer = new SqliteWriter({ ...data, migrations: dataMigrations, units });
    const port: MessagePortLike = {
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
