/** PostgreSQL and Redis give the guarantees of every store. */
import { clusterPlaces } from '../storage/cluster-place.ts';
import { storageConforms } from '../storage/conformance.ts';

for (const [name, makePlace] of Object.entries(await clusterPlaces())) storageConforms(name, makePlace);
