import { setDefaultTimeout } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { clusterPlaces } from './cluster-place.ts';
import { storageConforms } from './conformance.ts';
import { type MakePlace, sqlitePlace } from './place.ts';

setDefaultTimeout(testTimeoutMs);

/** Every kind of store. */
const stores: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

for (const [name, makePlace] of Object.entries(stores)) storageConforms(name, makePlace);
