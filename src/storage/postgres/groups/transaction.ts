import { andThen } from '../../../domain/awaitable.ts';
import { pets } from '../../../tables/pets.ts';
import { storedResponses } from '../../../tables/stored-responses.ts';
import type { Table } from '../../../tables/table.ts';
import { tables } from '../../../tables/tables.ts';
import { createEntities } from '../../entity.ts';
import { toResponseId } from '../../response-row.ts';
import {
  type EntityTransaction,
  type EventWrites,
  type PetWrites,
  type ResponseWrites,
  type StoredResponse,
  type Transaction,
  writableTables,
} from '../../transaction.ts';
import { GroupEntity, unsupported } from './entity.ts';
import type { UnitChanges } from './unit-changes.ts';

/** Stands for a table, or for statements, that units of a group cannot use. */
const needsTransaction = (name: string) =>
  new Proxy({} as never, {
    get: () => {
      throw unsupported({ name }, 'a statement');
    },
  });

const deliveries = needsTransaction('deliveries');
const sessions = needsTransaction('sessions');
const usage = needsTransaction('usage');
const ungrouped = new Map(
  tables.flatMap(({ name, notGrouped }) =>
    notGrouped === undefined ? [] : [[name, needsTransaction(name)]],
  ),
);

/**
 * Returns the transaction for one unit in a group. The transaction sees the results of earlier units, and stores
 * changes only in memory.
 */
export function groupTransaction(unit: UnitChanges, recordsEvents: boolean): Transaction {
  return {
    ...createEntities<EntityTransaction>(
      writableTables,
      (table) => ungrouped.get((table as Table).name) ?? new GroupEntity(table, unit),
    ),
    pets: groupPets(unit, recordsEvents),
    storedResponses: groupResponses(unit),
    events: groupEvents(unit, recordsEvents),
    deliveries,
    sessions,
    usage,
  };
}

function groupPets(unit: UnitChanges, recordsEvents: boolean): PetWrites {
  const entity = new GroupEntity(pets, unit);
  return {
    add: (added, events) =>
      added.map((pet) => {
        const id = unit.nextId();
        const row = { id, ...pet };
        unit.add(pets as Table, id, row);
        if (events !== undefined && recordsEvents) {
          const { type, createdAt, jsonBehindId } = events;
          unit.events.push({ type, createdAt, data: `{"id":${id}${jsonBehindId(pet)}` });
        }
        return row;
      }),
    find: (id) => entity.find(id),
    replace: ({ id }, after) => entity.update(id, after),
    remove: ({ id }) => entity.remove(id),
  };
}

const groupEvents = (unit: UnitChanges, isOn: boolean): EventWrites => ({
  add: (event) => {
    if (isOn) unit.events.push(event);
  },
  prune: () => {
    throw unsupported({ name: 'events' }, 'a removal');
  },
  skip: () => {
    throw unsupported({ name: 'events' }, 'a gap');
  },
});

type GroupResponseRow = Omit<StoredResponse, 'accountId' | 'key'> & { readonly id: string };

/**
 * Handles stored responses like other rows. A response that another transaction stores before the commit causes a
 * conflict.
 */
const groupResponses = (unit: UnitChanges): ResponseWrites => ({
  find: (keys, since) => {
    const found = keys.map(({ accountId, key }) =>
      andThen(unit.find(storedResponses as Table, toResponseId(accountId, key)), (row) => {
        const response = row as GroupResponseRow | undefined;
        return response && response.keptAt >= since ? { ...response, accountId, key } : undefined;
      }),
    );
    return found.some((each) => each instanceof Promise)
      ? Promise.all(found)
      : (found as (StoredResponse | undefined)[]);
  },
  keep: (responses, since) => {
    unit.responsesSince = since;
    const done = responses.map(({ accountId, key, ...response }) => {
      const id = toResponseId(accountId, key);
      return unit.set(storedResponses as Table, id, () => ({ id, ...response }));
    });
    return done.some((each) => each instanceof Promise) ? Promise.all(done).then(() => undefined) : undefined;
  },
  prune: () => {
    throw unsupported({ name: 'idempotent_answers' }, 'a removal');
  },
});
