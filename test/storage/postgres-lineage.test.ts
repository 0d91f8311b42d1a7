/** Ids after a failover or a restore, simulated by changing the recorded timeline. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Pet } from '../../src/contract/pets.ts';
import { units } from '../../src/operations/units.ts';
import { Lineage } from '../../src/storage/postgres/lineage.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { restoreGap as gap } from '../../src/tables/events.ts';
import { testServers } from '../support/servers.ts';
import { openDatabase, openSession, openWriters } from './postgres-kit.ts';
import { newPet } from './samples.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('ids on another timeline', () => {
  // These tests are skipped if no servers are available.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('continue after a single gap, whichever writers make the first changes', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using store = await openWriters(schema.url, units, 3);
    const add = async (count: number) => {
      const added = Array.from(
        { length: count },
        (_, index) =>
          store.writers[index % 3]?.write('createPet', { now: 0, body: newPet(`${index}`) }) as Promise<Pet>,
      );
      return (await Promise.all(added)).map(({ id }) => Number(id)).sort((one, other) => one - other);
    };
    expect(await add(3)).toEqual([1, 2, 3]);
    await session.unsafe(`
      ALTER TABLE counters DISABLE TRIGGER skip_lost_ids;
      UPDATE counters SET timeline = 'former';
      ALTER TABLE counters ENABLE TRIGGER skip_lost_ids`);
    expect(await add(30)).toEqual(Array.from({ length: 30 }, (_, index) => 3 + gap + index + 1));
    const events = await session`SELECT number_events(), last FROM counters WHERE name = 'events'`;
    expect(Number(events[0]?.last)).toBe(0);
    const [{ last }] = await session`SELECT last FROM counters WHERE name = 'events'`;
    expect(Number(last)).toBe(gap + 33);
    // Clients choose the ids of categories.
    await session`UPDATE counters SET version = version + 1 WHERE name = 'categories'`;
    expect(await session`SELECT last FROM counters WHERE name = 'categories'`).toEqual([
      { last: 0n },
    ] as never);
  });

  test('are raised once if several instances find the store on a server with another system identifier', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using all = new AsyncDisposableStack();
    const notices: string[] = [];
    const marks = async () => {
      const lineages = [];
      for (let count = 0; count < 3; count++) {
        const database = all.use(openDatabase(schema.url));
        await database.migrate();
        const lineage = all.use(new Lineage(database, (text) => notices.push(text)));
        const state = await readState({ run: (statement) => database.read(statement) });
        lineages.push({ lineage, state });
      }
      for (const { lineage, state } of lineages) lineage.isMarked(state, performance.now());
      await Promise.all(lineages.map(({ lineage }) => lineage.settled()));
    };
    const lasts = () => session`SELECT name, last FROM counters WHERE name <> 'categories' ORDER BY name`;
    await marks();
    expect((await lasts()).every(({ last }: { last: bigint }) => last === 0n)).toBe(true);
    expect(notices).toEqual([]);
    // A dump was restored on this server.
    await session`UPDATE store SET server = '1.1/' || split_part(server, '/', 2)`;
    await marks();
    expect((await lasts()).every(({ last }: { last: bigint }) => last === BigInt(gap))).toBe(true);
    expect(notices).toEqual([expect.stringContaining('the database has another history')]);
  });
});
