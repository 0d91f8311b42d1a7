/** A store with all the units of work of the operations. */
import { type Store, units } from './operations/units.ts';
import { openStorage, type StorageOptions } from './storage/open.ts';

export type StoreOptions = Omit<StorageOptions<typeof units>, 'units' | 'writes'>;

/** Opens the store a URL names. An embedded one that is served is written by a thread. Throws `StorageUnusable`. */
export function openStore(options: StoreOptions): Promise<Store> {
  const writes = options.serving
    ? ({ kind: 'thread', module: new URL('./writer-thread.ts', import.meta.url) } as const)
    : ({ kind: 'here' } as const);
  return openStorage({ ...options, units, writes });
}
