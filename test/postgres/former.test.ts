/** Instances of version 1.1.0 lock counters before rows. During a rolling upgrade, this must not cause deadlocks. */
import { expect, test } from 'bun:test';
import { units } from '../../src/operations/units.ts';
import { readState } from '../../src/storage/postgres/versions.ts';
import { PostgresWriter } from '../../src/storage/postgres/writer.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { now } from '../storage/catalogue-kit.ts';
import { lockAwaited, openDatabase, openSession, writeStoreOf11 } from '../storage/postgres-kit.ts';
import { newPet } from '../storage/samples.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { rejectionOf } from '../support/rejection.ts';

await describeWithServers('while an instance of version 1.1.0 is running', ({ makeSchema }) => {
  /** A store with an animal, and a session that locks like version 1.1.0. */
  async function opened() {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await makeSchema());
    const former = made.use(openSession(schema.url));
    const observer = made.use(openSession(schema.url));
    const database = made.use(openDatabase(schema.url));
    await database.migrate();
    const held: boolean[] = [];
    // Conflicts until it runs with its row locked.
    const contended = {
      writes: ['pets'],
      run: async ({ pets }: Transaction, id: bigint) => {
        const pet = await pets.find(id);
        const free = await observer`
          UPDATE pets SET name = name || '!'
          WHERE id IN (SELECT id FROM pets WHERE id = ${id} FOR UPDATE SKIP LOCKED) RETURNING id`;
        if (free.length === 0) {
          const counters = await observer`SELECT FROM counters WHERE name = 'pets' FOR UPDATE SKIP LOCKED`;
          held.push(counters.length === 0);
        }
        if (pet !== undefined) await pets.replace(pet, { ...pet, name: `${pet.name}?` });
      },
    } as const;
    const writer = new PostgresWriter(database, { ...units, contended }, async () => {}, {
      secret: 'c2VjcmV0',
      hasFormerInstances: () => true,
    });
    made.defer(() => writer.idle());
    await writer.write('createPet', { now, body: newPet('Rex') });
    const kept = made.move();
    return { ...{ writer, former, observer, held }, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  const changes: Record<string, (writer: PostgresWriter) => Promise<unknown>> = {
    'a change': (writer) =>
      writer.write('updatePet', { now, params: { petId: 1n }, preconditions: {}, body: { categoryId: 9n } }),
    'a group of changes': (writer) =>
      Promise.all([
        writer.write('updatePet', {
          now,
          params: { petId: 1n },
          preconditions: {},
          body: { categoryId: 9n },
        }),
        writer.write('createPet', { now, body: newPet('Max') }),
      ]),
  };

  for (const [name, change] of Object.entries(changes)) {
    test(`${name} that waits for it holds no lock on a row, and preserves its changes`, async () => {
      await using store = await opened();
      const { writer, former, observer } = store;
      await former`BEGIN`;
      await former`SELECT FROM counters WHERE name = 'pets' FOR UPDATE`;
      const changing = change(writer);
      await lockAwaited(observer);
      // Fails at once if the row is locked.
      await former`SELECT FROM pets WHERE id = 1 FOR UPDATE NOWAIT`;
      await former`UPDATE pets SET name = 'Moritz' WHERE id = 1`;
      await former`COMMIT`;
      await changing;
      const [pet] = await observer`SELECT name, category_id FROM pets WHERE id = 1`;
      expect(pet).toEqual({ name: 'Moritz', category_id: 9n });
    });
  }

  test('a change that adds a row, and waits for the counter of the audit log, has locked the counter of the resource', async () => {
    await using store = await opened();
    const { writer, former, observer } = store;
    await former`BEGIN`;
    await former`SELECT FROM counters WHERE name = 'audit' FOR UPDATE`;
    const input = { now, body: newPet('Max') };
    const adding = writer.write('audited', { unit: 'createPet', input, actor: 'operator:1', at: now });
    await lockAwaited(observer);
    expect(
      await rejectionOf(former`SELECT FROM counters WHERE name = 'pets' FOR UPDATE NOWAIT`.execute()),
    ).toMatchObject({
      errno: '55P03',
    });
    await former`ROLLBACK`;
    await adding;
  });

  test('an order that is placed while a change waits is noticed, although its animal has the same values as before', async () => {
    await using store = await opened();
    const { writer, former, observer } = store;
    await former`UPDATE pets SET status = 'pending' WHERE id = 1`;
    await former`BEGIN`;
    await former`SELECT FROM counters WHERE name = 'pets' FOR UPDATE`;
    const changing = writer.write('updatePet', {
      now,
      params: { petId: 1n },
      preconditions: {},
      body: { status: 'available' },
    });
    const outcome = changing.then(
      () => 'changed',
      ({ code }) => code,
    );
    await lockAwaited(observer);
    // As if the animal had become available and been ordered in the meantime.
    await former`UPDATE pets SET status = 'pending' WHERE id = 1`;
    await former`
      INSERT INTO orders (id, pet_id, status, created_at, updated_at) VALUES (1, 1, 'placed', 0, 0)`;
    await former`COMMIT`;
    expect(await outcome).toBe('pet_reserved');
  });

  test('a change that conflicts repeatedly locks the counter before its row', async () => {
    await using store = await opened();
    await store.writer.write('contended', 1n as never);
    expect(store.held).toEqual([true]);
  });

  test('new instances detect it until it stops, even if another instance continues under its name', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOf11(session);
    const at = Date.now();
    await session`INSERT INTO instances VALUES ('shop', '1.1.0', 1, ${at}), ('gone', '1.1.0', 1, 0)`;
    await using database = openDatabase(schema.url);
    await database.migrate();
    const isDetected = async () =>
      (await readState({ run: (statement) => database.read(statement) })).hasFormerInstances;
    expect(await isDetected()).toBe(true);
    await session`UPDATE instances SET seen_at = 0 WHERE name = 'shop'`;
    expect(await isDetected()).toBe(false);
    await session`UPDATE instances SET seen_at = ${at}, started_at = 2`;
    expect(await isDetected()).toBe(false);
  });

  test('instances of later versions are not mistaken for it', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await using database = openDatabase(schema.url);
    await database.migrate();
    await session`INSERT INTO instances VALUES ('shop', '1.1.0', 1, ${Date.now()})`;
    const { hasFormerInstances } = await readState({ run: (statement) => database.read(statement) });
    expect(hasFormerInstances).toBe(false);
  });
});
