/** How many units of work share a transaction of PostgreSQL, and their outcomes. */
import { afterAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test';
import type { PetStatus } from '../../src/contract/pets.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { openSession, openWriters } from './postgres-kit.ts';
import { newPet } from './samples.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('groups on PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('a group that takes long commits what it has done, and starts the rest again', async () => {
    const statementTimeoutMs = 60_000;
    const events: string[] = [];
    let aheadMs = 0;
    const real = performance.now.bind(performance);
    using _time = spyOn(performance, 'now').mockImplementation(() => real() + aheadMs);
    const slow = async ({ pets }: Transaction, name: string) => {
      events.push(`${name} begins`);
      aheadMs += statementTimeoutMs / 8;
      await pets.add([newPet(name)]);
    };
    const units = { slow: { writes: ['pets'], run: slow } } as const satisfies Units;
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using opened = await openWriters(schema.url, units, 1, statementTimeoutMs);
    const [writer] = opened.writers;
    const done = (name: string) => writer?.write('slow', name).then(() => events.push(`${name} done`));
    await Promise.all(['one', 'two'].map(done));
    expect(events).toEqual(['one begins', 'one done', 'two begins', 'two done']);
    expect([...(await session`SELECT name FROM pets ORDER BY id`)]).toEqual([
      { name: 'one' },
      { name: 'two' },
    ]);
  });

  test('a unit that leaves a rejected statement behind lets no neighbour report what is not stored', async () => {
    const add = ({ pets }: Transaction, name: string) => pets.add([newPet(name)]);
    const leaveBehind = async ({ pets }: Transaction) => {
      void Promise.resolve(pets.add([newPet('lost', 'lost' as PetStatus)])).catch(() => undefined);
    };
    const units = {
      add: { writes: ['pets'], run: add },
      leaveBehind: { writes: ['pets'], run: leaveBehind },
    } as const satisfies Units;
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using opened = await openWriters(schema.url, units, 1);
    const write = (unit: keyof typeof units, name: string) => opened.writers[0]?.write(unit, name as never);
    const names = ['one', 'two'];
    const settled = await Promise.allSettled([
      ...names.map((name) => write('add', name)),
      write('leaveBehind', ''),
    ]);
    const told = names.filter((_, index) => settled[index]?.status === 'fulfilled');
    const stored: { name: string }[] = await session`SELECT name FROM pets ORDER BY id`;
    expect(stored.map(({ name }) => name)).toEqual(told);
    await write('add', 'later');
  });
});
