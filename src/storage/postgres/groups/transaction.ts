import type { NewPet } from '../../../contract/pets.ts';
import type { Pet } from '../../../contract/representations.ts';
import { type Awaitable, andThen } from '../../../domain/awaitable.ts';
import type { NewEvent } from '../../../tables/events.ts';
import { pets } from '../../../tables/pets.ts';
import { storedResponses } from '../../../tables/stored-responses.ts';
import type { Table } from '../../../tables/table.ts';
import { tables } from '../../../tables/tables.ts';
import { createEntities } from '../../entity.ts';
import { toResponseId } from '../../response-row.ts';
import {
  type AddedEvents,
  type EntityTransaction,
  type EventWrites,
  type PetWrites,
  type ResponseKey,
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
    pets: new GroupPets(unit, recordsEvents),
    storedResponses: new GroupResponses(unit),
    events: new GroupEvents(unit, recordsEvents),
    deliveries,
    sessions,
    usage,
  };
}

class GroupPets implements PetWrites {
  readonly #pets: GroupEntity<typeof pets>;
  readonly #unit: UnitChanges;
  readonly #recordsEvents: boolean;

  constructor(unit: UnitChanges, recordsEvents: boolean) {
    this.#pets = new GroupEntity(pets, unit);
    this.#unit = unit;
    this.#recordsEvents = recordsEvents;
  }

  add(added: readonly NewPet[], events?: AddedEvents): Pet[] {
    return added.map((pet) => {
      const id = this.#unit.nextId();
      const row = { id, ...pet };
      this.#unit.add(pets as Table, id, row);
      if (events !== undefined && this.#recordsEvents) {
        const { type, createdAt, jsonBehindId } = events;
        this.#unit.events.push({ type, createdAt, data: `{"id":${id}${jsonBehindId(pet)}` });
      }
      return row;
    });
  }

  find(id: bigint): Awaitable<Pet | undefined> {
    return this.#pets.find(id);
  }

  replace({ id }: Pet, after: Pet): Awaitable<void> {
    return this.#pets.update(id, after);
  }

  remove({ id }: Pet): Awaitable<void> {
    return this.#pets.remove(id);
  }
}

class GroupEvents implements EventWrites {
  readonly #unit: UnitChanges;
  readonly #isOn: boolean;

  constructor(unit: UnitChanges, isOn: boolean) {
    this.#unit = unit;
    this.#isOn = isOn;
  }

  add(event: NewEvent): void {
    if (this.#isOn) this.#unit.events.push(event);
  }

  prune(): never {
    throw unsupported({ name: 'events' }, 'a removal');
  }

  skip(): never {
    throw unsupported({ name: 'events' }, 'a gap');
  }
}

type GroupResponseRow = Omit<StoredResponse, 'accountId' | 'key'> & { readonly id: string };

/**
 * Handles stored responses like other rows. A response that another transaction stores before the commit causes a
 * conflict.
 */
class GroupResponses implements ResponseWrites {
  readonly #unit: UnitChanges;

  constructor(unit: UnitChanges) {
    this.#unit = unit;
  }

  find(keys: readonly ResponseKey[], since: number): Awaitable<(StoredResponse | undefined)[]> {
    const found = keys.map(({ accountId, key }) =>
      andThen(this.#unit.find(storedResponses as Table, toResponseId(accountId, key)), (row) => {
        const response = row as GroupResponseRow | undefined;
        return response && response.keptAt >= since ? { ...response, accountId, key } : undefined;
      }),
    );
    return found.some((each) => each instanceof Promise)
      ? Promise.all(found)
      : (found as (StoredResponse | undefined)[]);
  }

  keep(responses: readonly StoredResponse[], since: number): Awaitable<void> {
    this.#unit.responsesSince = since;
    const done = responses.map(({ accountId, key, request, status, body, location, keptAt }) => {
      const id = toResponseId(accountId, key);
      return this.#unit.set(storedResponses as Table, id, () => ({
        id,
        request,
        status,
        body,
        location,
        keptAt,
      }));
    });
    return done.some((each) => each instanceof Promise) ? Promise.all(done).then(() => undefined) : undefined;
  }

  prune(): never {
    throw unsupported({ name: 'idempotent_answers' }, 'a removal');
  }
}
