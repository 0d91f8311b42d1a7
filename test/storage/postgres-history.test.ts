/** The cost of changes on PostgreSQL does not depend on history: versions of rows under an open transaction, and stored responses. */
import { afterAll, expect, test } from 'bun:test';
import { numberEvents, PostgresEventWrites } from '../../src/storage/postgres/entities/events.ts';
import { PostgresPetWrites } from '../../src/storage/postgres/entities/pets.ts';
import { groupText, shaped } from '../../src/storage/postgres/groups/statement.ts';
import type { Statement, Statements } from '../../src/storage/postgres/statements.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { answers } from '../../src/tables/answers.ts';
import type { Table } from '../../src/tables/table.ts';
import { testServers } from '../support/servers.ts';
import { openDatabase, openSession } from './postgres-kit.ts';
import { newPet } from './samples.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const tables = ['counters', 'inventory', 'inventory_by_category'];
const changes = 3_000;
/** One of them may begin a page, for which the server reads all versions to check that the key is unique. */
const rounds = 10;

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

    const fetched = () => session<{ name: string; pages: bigint; count: bigint }[]>`
      SELECT name, pg_relation_size(name::regclass) / 8192 AS pages,
        pg_stat_get_xact_blocks_fetched(name::regclass) AS count
      FROM json_array_elements_text(${JSON.stringify(tables)}::text::json) AS name`;
    // The server resets these counts between transactions.
    await session`BEGIN`;
    const before = await fetched();
    for (let round = 0; round < rounds; round++) {
      await add();
      await readState({ run } as never);
      await numberEvents({ run } as never);
    }
    const after = await fetched();
    await session`COMMIT`;
    for (const [index, { name, pages, count }] of after.entries()) {
      const blocks = Number(count - (before[index]?.count ?? 0n));
      expect({ name, areFew: blocks < rounds * Number(pages) }).toEqual({ name, areFew: true });
    }
  },
);

test.skipIf(servers === undefined)(
  'a group finds expired responses by their age, however many are stored',
  async () => {
    await using schema = await (servers ?? expect.unreachable()).makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    await using session = openSession(schema.url);
    await session`SET enable_seqscan = off`;
    const change = { table: answers as Table, isAdded: true, isChanged: false, isRemoved: false };
    await session.unsafe(`PREPARE stored (text, text) AS ${groupText(shaped([change]))}`);
    const plan: { 'QUERY PLAN': string }[] = await session.unsafe("EXPLAIN EXECUTE stored ('{}', '')");
    const text = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(text).toMatch(/idempotent_answers_by_age on [^\n]*\n *Index Cond: \(kept_at </);
  },
);
