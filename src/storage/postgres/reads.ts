import { accounts, keys } from '../../tables/accounts.ts';
import { imports } from '../../tables/imports.ts';
import { sessions } from '../../tables/operators.ts';
import { pets } from '../../tables/pets.ts';
import { entities } from '../../tables/tables.ts';
import { createEntities } from '../entity.ts';
import { createImportQueries } from '../queries/imports.ts';
import { createKeyQueries } from '../queries/keys.ts';
import type { EntityStores } from '../storage.ts';
import { PostgresEngine } from './engine.ts';
import { PostgresAccounts } from './entities/accounts.ts';
import { auditStore } from './entities/audit.ts';
import { PostgresDeliveries } from './entities/delivery-reads.ts';
import { PostgresEntity } from './entities/entity.ts';
import { PostgresEvents, type WaitForPropagation } from './entities/events.ts';
import { PostgresPets } from './entities/pets.ts';
import { searchStore } from './entities/search.ts';
import { PostgresUsage } from './entities/usage.ts';
import type { Runner } from './statements.ts';

export function createReads(runner: Runner, waitForPropagation?: WaitForPropagation) {
  const engine = new PostgresEngine(runner);
  return {
    ...createEntities<EntityStores>(entities, (table) => new PostgresEntity(table, runner)),
    pets: new PostgresPets(pets, runner),
    accounts: new PostgresAccounts(accounts, runner),
    keys: Object.assign(new PostgresEntity(keys, runner), createKeyQueries(engine)),
    deliveries: new PostgresDeliveries(runner),
    events: new PostgresEvents(runner, waitForPropagation),
    imports: Object.assign(new PostgresEntity(imports, runner), createImportQueries(engine)),
    sessions: new PostgresEntity(sessions, runner),
    audit: auditStore(runner),
    usage: new PostgresUsage(runner),
    search: searchStore(engine),
  };
}
