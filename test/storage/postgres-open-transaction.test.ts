/** PostgreSQL keeps every version of a row while a transaction is open that began before the version was replaced. */
import { afterAll, expect, test } from 'bun:test';
import { numberEvents, PostgresEventWrites } from '../../src/storage/postgres/entities/events.ts';
import { PostgresPetWrites } from '../../src/storage/postgres/entities/pets.ts';
import type { Statement, Statements } from '../../src/storage/postgres/statements.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { testServers } from '../support/servers.ts';
import { openDatabase, openSession } from './postgres-kit.ts';
import { newPet } from './samples.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const tables = ['counters', 'inventory', 'inventory_by_category'];
const changes = 2_500;

test.skipIf(servers === undefined)(
  'changes, polls of versions and the numbering of events read only recent versions of rows while a transaction is open',
  async () => {
    await using schema = await (servers ?? expect.unreachable()).makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    await using reader = openSession(schema.url);
    await using session = openSession(schema.url);
    await reader`BEGIN ISOLATION LEVEL REPEATABLE READ`;
    await reader`SELECT FROM counters`;

    const run = <Row>(statement: Statement<Row[]>) => statement(session) as Promise<Row[]>;
    const statements = { run, change: (_: string, statement: Statement<unknown[]>) => run(statement) };
    const events = new PostgresEventWrites(statements as unknown as Statements, true);
    const pets = new PostgresPetWrites(statements as unknown as Statements, events);
    const add = () =>
      pets.add([newPet('Rex')], { type: 'pet.created', createdAt: 0, jsonBehindId: () => '}' });
    for (let change = 0; change < changes; change++) await add();
    while (await numberEvents({ run } as never));

    await session`BEGIN`;
    await add();
    await readState({ run } as never);
    await numberEvents({ run } as never);
    const read = await session`
      SELECT name, pg_relation_size(name::regclass) / 8192 AS pages,
        pg_stat_get_xact_blocks_fetched(name::regclass) AS fetched
      FROM json_array_elements_text(${JSON.stringify(tables)}::text::json) AS name`;
    await session`COMMIT`;
    for (const { name, pages, fetched } of read) {
      expect({ name, areFew: fetched < pages }).toEqual({ name, areFew: true });
    }
  },
);
