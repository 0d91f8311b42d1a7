/** Guarantees of every store, regardless of the engine. */
import { describe } from 'bun:test';
import { accountPagesConform, closingConforms } from './accounts-conformance.ts';
import { auditConforms } from './audit-conformance.ts';
import { firstStartConforms, keysConform, scopesConform } from './callers-conformance.ts';
import { entitiesConform } from './entities-conformance.ts';
import { eventsConform } from './events-conformance.ts';
import { filtersConform } from './filters-conformance.ts';
import { historyConforms } from './history-conformance.ts';
import { importsConform } from './imports-conformance.ts';
import { instancesConform } from './instances-conformance.ts';
import { inventoryConforms } from './inventory-conformance.ts';
import { limitStoreConforms } from './limit-store-conformance.ts';
import { onceConforms } from './once-conformance.ts';
import { operatorOnceConforms } from './operator-once-conformance.ts';
import { operatorsConform, sessionsConform } from './operators-conformance.ts';
import { ordersConform } from './orders-conformance.ts';
import { petsConform } from './pets-conformance.ts';
import { type MakePlace, storeTests } from './place.ts';
import { searchConforms } from './search-conformance.ts';
import { answersConform } from './stored-responses-conformance.ts';
import { unitsConform } from './units-conformance.ts';
import { usageConforms } from './usage-conformance.ts';
import { versionsConform } from './versions-conformance.ts';
import { webhooksConform } from './webhooks-conformance.ts';

export function storageConforms(name: string, makePlace: MakePlace): void {
  const check = storeTests(makePlace);
  describe(name, () => {
    describe('pets', () => petsConform(check));
    describe('filters', () => filtersConform(check));
    describe('inventory', () => inventoryConforms(check));
    describe('orders', () => ordersConform(check));
    describe('events', () => eventsConform(check));
    describe('tables', () => entitiesConform(check));
    describe('webhooks', () => webhooksConform(check));
    describe('stored responses', () => answersConform(check));
    describe('client requests with an Idempotency-Key', () => onceConforms(check));
    describe('operator requests with an Idempotency-Key', () => operatorOnceConforms(check));
    describe('lists of accounts', () => accountPagesConform(check));
    describe('closed accounts', () => closingConforms(check));
    describe('keys', () => keysConform(check));
    describe('scopes', () => scopesConform(check));
    describe('the first start', () => firstStartConforms(check));
    describe('limits', () => limitStoreConforms(check));
    describe('imports', () => importsConform(check));
    describe('units of work', () => unitsConform(check));
    describe('operators', () => operatorsConform(check));
    describe('sessions', () => sessionsConform(check));
    describe('the audit log', () => auditConforms(check));
    describe('searches', () => searchConforms(check));
    describe('usage', () => usageConforms(check));
    describe('history', () => historyConforms(check));
    describe('instances', () => instancesConform(check));
    describe('versions', () => versionsConform(check));
  });
}
