import { describe } from 'bun:test';
import { clusterPlaces } from './cluster-place.ts';
import { storageConforms } from './conformance.ts';
import { type MakePlace, sqlitePlace, storeTests, threadedPlace } from './place.ts';
import { versionsConform } from './versions-conformance.ts';

const stores: Record<string, MakePlace> = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

for (const [name, makePlace] of Object.entries(stores)) storageConforms(name, makePlace);

describe('SQLite, written by another thread', () => versionsConform(storeTests(threadedPlace)));
