/** The cost of changes on PostgreSQL does not depend on history. */
import { afterAll, expect, test } from 'bun:test';
import { buildGroupStatement, shaped } from '../../src/storage/postgres/groups/statement.ts';
import { storedResponses } from '../../src/tables/stored-responses.ts';
import type { Table } from '../../src/tables/table.ts';
import { openDatabase, openSession } from '../storage/postgres-kit.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test.skipIf(servers === undefined)(
  'a group finds expired responses by their age, however many are stored',
  async () => {
    await using schema = await (servers ?? expect.unreachable()).makeSchema();
    await using database = openDatabase(schema.url);
    await database.migrate();
    await using session = openSession(schema.url);
    await session`SET enable_seqscan = off`;
    const change = { table: storedResponses as Table, isAdded: true, isChanged: false, isRemoved: false };
    await session.unsafe(`PREPARE stored (text, text) AS ${buildGroupStatement(shaped([change]))}`);
    const plan: { 'QUERY PLAN': string }[] = await session.unsafe("EXPLAIN EXECUTE stored ('{}', '')");
    const text = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(text).toMatch(/idempotent_answers_by_age on [^\n]*\n *Index Cond: \(kept_at </);
  },
);
