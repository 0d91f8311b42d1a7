import { CopyOperations, instancesServing } from '../operations/copies.ts';
import { type Store, units } from '../operations/units.ts';
import { openStorage, openTables, type StorageOptions } from '../storage/open.ts';
import type { WriterPlace } from '../storage/sqlite/connect-writer.ts';
import { type ServingWorker, StorageUnusable, type Tables } from '../storage/storage.ts';

export interface StoreOptions extends Omit<StorageOptions<typeof units>, 'units' | 'writer'> {
  /** Identifies this process if several processes serve the store; undefined if only this one does. */
  readonly worker?: ServingWorker | undefined;
  /** True for a supervisor, which serves no clients. */
  readonly supervising?: boolean;
}

/** Opens the store at a URL. Throws `StorageUnusable`. */
export function openStore({ worker, supervising = false, ...options }: StoreOptions): Promise<Store> {
  return openStorage({ ...options, units, writer: placeOf(options.serving && !supervising, worker) });
}

/** Chooses where writes run: a serving process never writes to an embedded store on its main thread. */
function placeOf(answers: boolean, worker: ServingWorker | undefined): WriterPlace {
  if (worker !== undefined) return { kind: 'supervisor', worker };
  if (!answers) return { kind: 'here' };
  return { kind: 'thread', module: new URL('./writer-thread.ts', import.meta.url) };
}

/**
 * Replaces DATABASE_URL with the option's name in error messages, because `copy` takes its database URLs from options
 * rather than from the setting.
 */
async function openNamed(option: string, url: string, mustExist: boolean): Promise<Tables & AsyncDisposable> {
  try {
    return await openTables(url, mustExist);
  } catch (error) {
    if (!(error instanceof StorageUnusable)) throw error;
    throw new StorageUnusable(error.message.replaceAll('DATABASE_URL', option), { cause: error });
  }
}

export type OpenCopy = CopyOperations &
  AsyncDisposable & {
    /** Names of the instances that are serving the source store. */
    readonly servedBy: readonly string[];
  };

/** Opens two stores, so that one can be copied into the other. Throws `StorageUnusable`. */
export async function openCopy(fromUrl: string, toUrl: string): Promise<OpenCopy> {
  await using opened = new AsyncDisposableStack();
  const from = opened.use(await openNamed('--from', fromUrl, true));
  const to = opened.use(await openNamed('--to', toUrl, false));
  // An embedded store needs no check, because it cannot be opened while it is being served.
  const servedBy = from.now === undefined ? [] : await instancesServing(from, await from.now());
  const kept = opened.move();
  return Object.assign(new CopyOperations(from, to), {
    servedBy,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  });
}
