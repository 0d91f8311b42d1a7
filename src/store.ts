/** A store with all the units of work of the operations. */
import { type Store, units } from './operations/units.ts';
import { openStorage, type StorageOptions } from './storage/open.ts';
import type { Port } from './storage/port.ts';
import type { WriteWay } from './storage/sqlite/writes.ts';

export interface StoreOptions extends Omit<StorageOptions<typeof units>, 'units' | 'writes'> {
  /** What this process is of a service of several processes; unless given, it is the only one. */
  readonly role?: ServiceRole;
}

/** The supervisor answers no requests itself; a worker reaches it through the port. Workers are numbered from 1. */
export type ServiceRole = 'supervisor' | { readonly worker: number; readonly port: Port };

/** Opens the store a URL names. Throws `StorageUnusable`. */
export function openStore({ role, ...options }: StoreOptions): Promise<Store> {
  return openStorage({ ...options, units, writes: options.serving ? waysOf(role) : { kind: 'here' } });
}

/** No process that answers requests writes to an embedded store in the thread that answers them. */
function waysOf(role: ServiceRole | undefined): WriteWay {
  if (role === 'supervisor') return { kind: 'here' };
  if (role !== undefined) return { kind: 'port', ...role };
  return { kind: 'thread', module: new URL('./writer-thread.ts', import.meta.url) };
}
