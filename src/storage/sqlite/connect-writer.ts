import type { DataDamagedError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import type { StoreIdentity } from '../../store-files/file-identity.ts';
import type { QueueFacts } from '../group-queue.ts';
import type { MessagePortLike, ServingWorker } from '../storage.ts';
import type { Units, Writer } from '../transaction.ts';
import { PortWriter, WriteServer } from '../writer-port.ts';
import type { Migrations } from './database.ts';
import { SqliteWriter } from './writer.ts';
import type { ThreadTask } from './writer-thread.ts';

export type WriterLocation =
  /** Writes in this thread, for a process that serves no requests. */
  | { readonly kind: 'here' }
  /** Writes in a separate thread, whose `module` calls `runWriterThread`. */
  | { readonly kind: 'thread'; readonly module: URL }
  /** Sends writes to the supervisor of this worker. */
  | { readonly kind: 'supervisor'; readonly worker: ServingWorker };

interface ConnectedWriter extends Writer<Units>, AsyncDisposable {
  /** Error of the last write; undefined if the write succeeded. */
  readonly trouble: string | undefined;
  /** Last reported statistics of the process or thread that writes. */
  readonly facts: QueueFacts;
  /** Resolves with the reason when writes have stopped permanently; undefined if that cannot happen. */
  readonly writerLost?: Promise<Error>;
  /**
   * Executes another process's writes until the result is disposed of; undefined if this process does not write to the
   * file.
   */
  readonly serve?: (port: MessagePortLike) => Disposable;
}

interface ConnectOptions {
  readonly place: WriterLocation;
  readonly path: string;
  readonly identity: StoreIdentity;
  readonly migrations: Migrations;
  readonly units: Units;
  readonly events: boolean | undefined;
  readonly timeoutMs: number;
  readonly notice: Notify;
  /** Called when a write may have been committed, before its promise settles. */
  readonly onOutcome: () => void;
  /** Called when a write finds the data file damaged. */
  readonly onDamage: (damage: DataDamagedError) => void;
}

/** Throws `StoreUnusableError`. */
export function connectWriter(options: ConnectOptions): ConnectedWriter {
  const { place } = options;
  if (place.kind === 'here') return createLocalWriter(options);
  if (place.kind === 'thread') return startWriterThread(place.module, options);
  const writer = new PortWriter(place.worker.port, options);
  return Object.assign(writer, { [Symbol.asyncDispose]: () => writer.idle() });
}

function createLocalWriter({ onOutcome, ...options }: ConnectOptions): ConnectedWriter {
  const writer = new SqliteWriter(options);
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
 * The thread starts on the first write or after this delay, whichever comes first. Loading all units immediately would
 * double the startup time.
 */
const startThreadAfterMs = 500;

function startWriterThread(
  module: URL,
  { path, identity, events, timeoutMs, ...observers }: ConnectOptions,
): ConnectedWriter {
  const writerLost = Promise.withResolvers<Error>();
  const closed = Promise.withResolvers<void>();
  let handle: (message: unknown) => void = () => undefined;
  let thread: Worker | undefined;
  let isClosing = false;
  const onEnd = (how: string) => {
    if (isClosing) return;
    isClosing = true;
    const error = new Error(`The thread that writes to ${path} ${how}`);
    // Pending writes may have been committed. Clients can check this after the service is restarted.
    writer.end(error.message);
    writerLost.resolve(error);
  };
  const started = (): Worker => {
    if (thread !== undefined) return thread;
    clearTimeout(timer);
    thread = new Worker(module, { smol: true, name: 'writer' });
    thread.addEventListener('error', ({ message }) => onEnd(`failed: ${message}`));
    thread.addEventListener('close', () => onEnd('has ended.'));
    thread.addEventListener('message', ({ data }) => (data === 'closed' ? closed.resolve() : handle(data)));
    const task: ThreadTask = { path, identity, events, timeoutMs };
    thread.postMessage(task);
    return thread;
  };
  const timer = setTimeout(started, startThreadAfterMs);
  const port: MessagePortLike = {
    post: (message) => started().postMessage(message),
    listen: (handler) => {
      handle = handler;
    },
  };
  const writer = new PortWriter(port, observers);
  return Object.assign(writer, {
    writerLost: writerLost.promise,
    [Symbol.asyncDispose]: async () => {
      await writer.idle();
      clearTimeout(timer);
      if (isClosing || thread === undefined) return;
      isClosing = true;
      if (writer.isSilent) {
        // The thread is blocked in a disk operation. `terminate` would delay the exit of this process until the
        // operation completes.
        thread.unref();
        return;
      }
      thread.postMessage('close');
      await closed.promise;
      thread.terminate();
    },
  });
}
