/** Cached pages on PostgreSQL. A change discards only the pages that could show it. */
import { expect, test } from 'bun:test';
import type { NewPet, PetStatus } from '../../src/contract/pets.ts';
import type { Pet } from '../../src/contract/representations.ts';
import type { IdSpan } from '../../src/domain/changed-ids.ts';
import { RequiredVersions } from '../../src/domain/required-versions.ts';
import { mapVersions } from '../../src/domain/resources.ts';
import { petReaders } from '../../src/operations/resources/pets.ts';
import { PostgresChangedIds } from '../../src/storage/postgres/changed-ids.ts';
import { createReads } from '../../src/storage/postgres/reads.ts';
import type { Transaction, Units } from '../../src/storage/transaction.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { randomFrom } from '../support/random.ts';
import { openDatabase, openSession, openWriters } from './postgres-kit.ts';
import { newPet } from './samples.ts';

const catalogue = {
  add: { writes: ['pets'], all: ({ pets }: Transaction, given: readonly NewPet[]) => pets.add(given) },
  replace: {
    writes: ['pets'],
    run: async ({ pets }: Transaction, after: Pet) => {
      const before = await pets.find(after.id);
      if (before !== undefined) await pets.replace(before, after);
    },
  },
  remove: {
    writes: ['pets'],
    run: async ({ pets }: Transaction, id: bigint) => {
      const pet = await pets.find(id);
      if (pet !== undefined) await pets.remove(pet);
    },
  },
} as const satisfies Units;

await describeWithServers('cached pages on PostgreSQL', ({ makeSchema }) => {
  /** A store with animals in several id ranges, and a process that tracks its changes. */
  async function opened() {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await makeSchema());
    const { writers } = made.use(await openWriters(schema.url, catalogue, 1));
    const [writer] = writers;
    if (writer === undefined) throw new Error('There is no writer.');
    const session = made.use(openSession(schema.url));
    const database = made.use(openDatabase(schema.url));
    const runner = { run: (statement: never) => database.read(statement) } as never;
    let heard = 1;
    const versions = () => mapVersions(() => heard);
    const required = new RequiredVersions();
    const changed = new PostgresChangedIds(runner, versions, required);
    const addAt = async (last: number, ...names: string[]): Promise<void> => {
      await session`UPDATE counters SET last = ${last} WHERE name = 'pets'`;
      for (const name of names) await writer.write('add', newPet(name));
    };
    const kept = made.move();
    return {
      writer,
      session,
      addAt,
      changed,
      required,
      pets: createReads(runner).pets,
      mark: () => changed.mark('pets'),
      /** True if a page is unchanged after the process has received all changes. */
      isUnchanged(span: IdSpan, mark: number) {
        heard++;
        return changed.isUnchanged('pets', span, mark, versions());
      },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  test('a page stays valid while animals in other ranges change, and is read again when one of its animals changes', async () => {
    await using store = await opened();
    await store.addAt(0, 'one', 'two');
    await store.addAt(5_000, 'far');
    const span = { from: 1n, to: 2n };
    // Pages read before the first check are considered changed.
    expect(await store.isUnchanged(span, store.mark())).toBe(false);
    const mark = store.mark();
    expect(await store.isUnchanged(span, mark)).toBe(true);
    await store.writer.write('replace', { id: 5_001n, ...newPet('renamed') });
    await store.writer.write('add', newPet('behind'));
    expect(await store.isUnchanged(span, mark)).toBe(true);
    await store.writer.write('replace', { id: 2n, ...newPet('renamed') });
    expect(await store.isUnchanged(span, mark)).toBe(false);
    expect(await store.isUnchanged(span, store.mark())).toBe(true);
    await store.writer.write('remove', 1n);
    expect(await store.isUnchanged(span, mark)).toBe(false);
  });

  test('reading the changed ranges again does not raise the minimum replica version', async () => {
    await using store = await opened();
    await store.addAt(0, 'one');
    store.required.settle('pets', 0, Number.POSITIVE_INFINITY);
    await store.isUnchanged({ from: 1n, to: 1n }, 0);
    const [counter] = await store.session`SELECT version FROM counters WHERE name = 'pets'`;
    expect(store.required.of('pets')).toBe(Number(counter.version));
  });

  test('the last page is read again when an animal is added', async () => {
    await using store = await opened();
    await store.addAt(0, 'one');
    await store.isUnchanged({ from: 1n, to: undefined }, 0);
    const mark = store.mark();
    await store.addAt(9_000, 'far');
    expect(await store.isUnchanged({ from: 1n, to: undefined }, mark)).toBe(false);
    expect(await store.isUnchanged({ from: 1n, to: 1n }, mark)).toBe(true);
  });

  test('every page is read again if the server has lost changes, which a failover can cause', async () => {
    await using store = await opened();
    await store.addAt(0, 'one');
    const span = { from: 1n, to: 1n };
    await store.isUnchanged(span, 0);
    const mark = store.mark();
    expect(await store.isUnchanged(span, mark)).toBe(true);
    await store.session`UPDATE changed_ranges SET version = version - 1000000`;
    await store.session`UPDATE counters SET version = version - 1000000 WHERE name = 'pets'`;
    expect(await store.isUnchanged(span, mark)).toBe(false);
    expect(await store.isUnchanged(span, store.mark())).toBe(true);
  });

  test('a page is considered changed if changes to its resource are not tracked by id, Redis reports no version, or the page spans very many ids', async () => {
    await using store = await opened();
    await store.addAt(0, 'one');
    const span = { from: 1n, to: 1n };
    await store.isUnchanged(span, 0);
    const versions = mapVersions(() => 1);
    expect(await store.changed.isUnchanged('categories', span, 9, versions)).toBe(false);
    expect(
      await store.changed.isUnchanged(
        'pets',
        span,
        9,
        mapVersions(() => -1),
      ),
    ).toBe(false);
    expect(await store.isUnchanged({ from: 1n, to: 70_000n }, store.mark())).toBe(false);
  });

  test('a changed page is never considered unchanged', async () => {
    await using store = await opened();
    const random = randomFrom(20_261_123);
    const below = (end: number) => Math.floor(random() * end);
    const statuses: readonly PetStatus[] = ['available', 'pending', 'sold'];
    const statusOf = () => statuses[below(3)];
    for (let range = 0; range < 6; range++) await store.addAt(range * 2_000 + 13, 'a', 'b', 'c', 'd');
    const ids = (await store.pets.list()).map(({ id }) => id);
    const read = async (cursor: string | undefined, status: PetStatus | undefined) => {
      const mark = store.mark();
      const query = { limit: 3, cursor, status } as never;
      const { json, next, span } = await petReaders.listPets(
        { pets: store.pets } as never,
        { query } as never,
      );
      if (span === undefined) throw new Error('A page has a span.');
      return {
        text: JSON.stringify([json, next]),
        span,
        mark,
        next,
      };
    };
    let kept = 0;
    for (let round = 0; round < 150; round++) {
      const status = below(2) === 0 ? undefined : statusOf();
      const first = await read(undefined, status);
      const cursor = below(2) === 0 ? undefined : first.next;
      const page = cursor === undefined ? first : await read(cursor, status);
      const id = ids[below(ids.length)] ?? 1n;
      const kind = below(8);
      if (kind === 0) await store.writer.write('add', newPet(`new ${round}`, statusOf()));
      else if (kind === 1) await store.writer.write('remove', id);
      else await store.writer.write('replace', { id, ...newPet(`changed ${round}`, statusOf()) });
      const isUnchanged = await store.isUnchanged(page.span, page.mark);
      if (!isUnchanged) continue;
      kept++;
      expect((await read(cursor, status)).text).toBe(page.text);
    }
    expect(kept).toBeGreaterThan(50);
  });
});
