/** SQLite gives the guarantees of every store. test/postgres/storage.test.ts is the same for PostgreSQL and Redis. */
import { describe } from 'bun:test';
import { storageConforms } from './conformance.ts';
import { sqlitePlace, storeTests, threadedPlace } from './place.ts';
import { versionsConform } from './versions-conformance.ts';

storageConforms('SQLite', sqlitePlace);

describe('SQLite, written by another thread', () => versionsConform(storeTests(threadedPlace)));
