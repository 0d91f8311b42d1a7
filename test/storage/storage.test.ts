import { describe, setDefaultTimeout } from 'bun:test';
import { testTimeoutMs } from '../support/wait.ts';
import { clusterPlaces } from './cluster-place.ts';
import { storageConforms } from './conformance.ts';
import { type MakePlace, sqlitePlace, storeTests, threadedPlace } from './place.ts';
import { versionsConform } from './versions-conformance.ts';

setDefaultTimeout(testTimeoutMs);

/** Every kind of store. */
const stores: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

for (const [name, makePlace] of Object.entries(stores)) storageConforms(name, makePlace);

describe('SQLite, written in another thread', () => versionsConform(storeTests(threadedPlace)));
