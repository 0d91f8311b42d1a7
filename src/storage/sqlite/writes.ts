import type { Notice } from '../outage.ts';
import type { Port } from '../port.ts';
import type { Units, Writer } from '../transaction.ts';
import { PortWriter, WriteServer } from '../writer-port.ts';
import type { Format } from './database.ts';
import { openWriter } from './open-writer.ts';
import type { ThreadTask } from './writer-thread.ts';

/** Where the writes of a process are done. */
export type WriteWay =
  /** In this thread: of a process that answers no requests. */
  | { readonly kind: 'here' }
  /** In a thread of its own; `module` runs `runWriterThread`. */
  | { readonly kind: 'thread'; readonly module: URL }
  /** In the process at the other end, which serves the store with this one; `worker` is this one's number, from 1. */
  | { readonly kind: 'port'; readonly port: Port; readonly worker: number };

export interface SqliteWrites extends Writer<Units>, AsyncDisposable {
  /** Why nothing is being stored, as the last write showed; undefined while all is. */
  readonly trouble: string | undefined;
  /** Resolves with the reason when nothing can be written any more, whatever happens; undefined where that cannot be. */
  readonly lost?: Promise<Error>;
  /**
   * Lets another process of the same service write here, until that has ended; undefined where this one does not write
   * itself.
   */
  readonly serve?: (port: Port) => Disposable;
}

export interface WritesOptions {
  readonly way: WriteWay;
  /** The data file. */
  readonly path: string;
  readonly format: Format;
  readonly units: Units;
  /** How long a write that is done here waits for its commit, in milliseconds. */
  readonly timeoutMs: number;
  readonly notice: Notice;
  /** Called when something was perhaps committed, before anybody is answered. */
  readonly onOutcome: () => void;
}

/** Throws `StorageUnusable`. */
export function openWrites(options: WritesOptions): SqliteWrites {
  const { way, notice, onOutcome } = options;
  if (way.kind === 'here') return writesHere(options);
  if (way.kind === 'thread') return writesInThread(way.module, options);
  const writer = new PortWriter(way.port, notice, onOutcome);
  return Object.assign(writer, { [Symbol.asyncDispose]: () => writer.idle() });
}

function writesHere({ path, format, units, timeoutMs, onOutcome }: WritesOptions): SqliteWrites {
  const writer = openWriter({ path, format, units, timeoutMs });
  const server = new WriteServer(writer);
  return {
    trouble: undefined,
    write: (name, input) => writer.write(name, input).finally(onOutcome),
    serve: (port) => server.serve(port),
    [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
  };
}

function writesInThread(module: URL, { path, timeoutMs, notice, onOutcome }: WritesOptions): SqliteWrites {
  const thread = new Worker(module, { smol: true, name: 'writer' });
  const lost = Promise.withResolvers<Error>();
  let isClosing = false;
  const onEnd = (how: string) => {
    if (isClosing) return;
    isClosing = true;
    const error = new Error(`The thread that writes to ${path} ${how}`);
    // What it was asked for may be committed or not: it is for whoever asked to find out, from the next start on.
    writer.end(error.message);
    lost.resolve(error);
  };
  thread.addEventListener('error', ({ message }) => onEnd(`failed: ${message}`));
  thread.addEventListener('close', () => onEnd('has ended.'));
  const task: ThreadTask = { path, timeoutMs };
  thread.postMessage(task);
  const closed = Promise.withResolvers<void>();
  const port: Port = {
    post: (message) => thread.postMessage(message),
    listen: (handler) =>
      thread.addEventListener('message', ({ data }) =>
        data === 'closed' ? closed.resolve() : handler(data),
      ),
  };
  const writer = new PortWriter(port, notice, onOutcome);
  return Object.assign(writer, {
    lost: lost.promise,
    [Symbol.asyncDispose]: async () => {
      await writer.idle();
      if (isClosing) return;
      isClosing = true;
      thread.postMessage('close');
      await closed.promise;
      thread.terminate();
    },
  });
}
