import { CopyOperations } from '../operations/copies.ts';
import { type Store, units } from '../operations/units.ts';
import { openStorage, openTables, type StorageOptions } from '../storage/open.ts';
import type { WriterPlace } from '../storage/sqlite/connect-writer.ts';
import type { ServingWorker } from '../storage/storage.ts';

export interface StoreOptions extends Omit<StorageOptions<typeof units>, 'units' | 'writer'> {
  /** Which of several serving processes this is. Defaults to the only one. */
  readonly worker?: ServingWorker | undefined;
  /** Whether this process has workers that answer requests, and answers none itself. */
  readonly supervising?: boolean;
}

/** Opens the store a URL names. Throws `StorageUnusable`. */
export function openStore({ worker, supervising = false, ...options }: StoreOptions): Promise<Store> {
  return openStorage({ ...options, units, writer: placeOf(options.serving && !supervising, worker) });
}

/** No process that answers requests writes to an embedded store in the thread that answers them. */
function placeOf(answers: boolean, worker: ServingWorker | undefined): WriterPlace {
  if (worker !== undefined) return { kind: 'supervisor', worker };
  if (!answers) return { kind: 'here' };
  return { kind: 'thread', module: new URL('./writer-thread.ts', import.meta.url) };
}

/** Opens two stores to copy one to the other. Throws `StorageUnusable`. */
export async function openCopy(fromUrl: string, toUrl: string): Promise<CopyOperations & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const from = opened.use(await openTables(fromUrl, true));
  const to = opened.use(await openTables(toUrl, false));
  const kept = opened.move();
  return Object.assign(new CopyOperations(from, to), {
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  });
}
