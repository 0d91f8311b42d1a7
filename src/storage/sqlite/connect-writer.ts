import type { QueueFacts } from '../group-queue.ts';
import type { Notice } from '../outage.ts';
import type { Port } from '../port.ts';
import type { ServingWorker } from '../storage.ts';
import type { Units, Writer } from '../transaction.ts';
import { PortWriter, WriteServer } from '../writer-port.ts';
import type { Format } from './database.ts';
import { openWriter } from './open-writer.ts';
import type { ThreadTask } from './writer-thread.ts';

/** Where a process has its units of work run. */
export type WriterPlace =
  /** In this thread: for a process that answers no requests. */
  | { readonly kind: 'here' }
  /** In a thread of its own; `module` runs `runWriterThread`. */
  | { readonly kind: 'thread'; readonly module: URL }
  /** In the process that supervises this worker. */
  | { readonly kind: 'supervisor'; readonly worker: ServingWorker };

export interface ConnectedWriter extends Writer<Units>, AsyncDisposable {
  /** Why nothing is being stored, as the last write showed; undefined while all is. */
  readonly trouble: string | undefined;
  /** What was written by whoever does the writes, as far as is known here. */
  readonly facts: QueueFacts;
  /** Resolves with the reason when nothing can be written any more, whatever happens; undefined where that cannot be. */
  readonly lost?: Promise<Error>;
  /**
   * Lets another process of the same service write here, until that has ended; undefined where this one does not write
   * itself.
   */
  readonly serve?: (port: Port) => Disposable;
}

interface ConnectOptions {
  readonly place: WriterPlace;
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
export function connectWriter(options: ConnectOptions): ConnectedWriter {
  const { place, notice, onOutcome } = options;
  if (place.kind === 'here') return writerHere(options);
  if (place.kind === 'thread') return writerInThread(place.module, options);
  const writer = new PortWriter(place.worker.port, notice, onOutcome);
  return Object.assign(writer, { [Symbol.asyncDispose]: () => writer.idle() });
}

function writerHere({ path, format, units, timeoutMs, onOutcome }: ConnectOptions): ConnectedWriter {
  const writer = openWriter({ path, format, units, timeoutMs });
  const server = new WriteServer(writer);
  return {
    trouble: undefined,
    get facts() {
      return writer.facts;
    },
    write: (name, input) => writer.write(name, input).finally(onOutcome),
    serve: (port) => server.serve(port),
    [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
  };
}

/**
 * The thread starts with the first write, or soon after: it loads all units of work, which takes about as long as all else
 * that a start does, and the first answers need none of it.
 */
const startThreadAfterMs = 500;

function writerInThread(
  module: URL,
  { path, timeoutMs, notice, onOutcome }: ConnectOptions,
): ConnectedWriter {
  const lost = Promise.withResolvers<Error>();
  const closed = Promise.withResolvers<void>();
  let handle: (message: unknown) => void = () => undefined;
  let thread: Worker | undefined;
  let isClosing = false;
  const onEnd = (how: string) => {
    if (isClosing) return;
    isClosing = true;
    const error = new Error(`The thread that writes to ${path} ${how}`);
    // What it was asked for may be committed or not: it is for whoever asked to find out, from the next start on.
    writer.end(error.message);
    lost.resolve(error);
  };
  const started = (): Worker => {
    if (thread !== undefined) return thread;
    clearTimeout(timer);
    thread = new Worker(module, { smol: true, name: 'writer' });
    thread.addEventListener('error', ({ message }) => onEnd(`failed: ${message}`));
    thread.addEventListener('close', () => onEnd('has ended.'));
    thread.addEventListener('message', ({ data }) => (data === 'closed' ? closed.resolve() : handle(data)));
    const task: ThreadTask = { path, timeoutMs };
    thread.postMessage(task);
    return thread;
  };
  const timer = setTimeout(started, startThreadAfterMs);
  const port: Port = {
    post: (message) => started().postMessage(message),
    listen: (handler) => {
      handle = handler;
    },
  };
  const writer = new PortWriter(port, notice, onOutcome);
  return Object.assign(writer, {
    lost: lost.promise,
    [Symbol.asyncDispose]: async () => {
      await writer.idle();
      clearTimeout(timer);
      if (isClosing || thread === undefined) return;
      isClosing = true;
      if (writer.isSilent) {
        // It hangs in the disk: the end of the process would wait for a thread that is told to end.
        thread.unref();
        return;
      }
      thread.postMessage('close');
      await closed.promise;
      thread.terminate();
    },
  });
}
