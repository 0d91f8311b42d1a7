import { clusterPlaces } from './cluster-place.ts';
import { storageConforms } from './conformance.ts';
import { type MakePlace, sqlitePlace } from './place.ts';

/** Every store there is. */
const stores: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

for (const [name, makePlace] of Object.entries(stores)) storageConforms(name, makePlace);
