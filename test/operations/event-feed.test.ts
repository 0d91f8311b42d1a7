/** Pages of events while new events are recorded. */
import { describe, expect } from 'bun:test';
import { FairQueue } from '../../src/domain/fair-queue.ts';
import { unrestrictedFilter } from '../../src/operations/admin/events.ts';
import { EventFeed } from '../../src/operations/events/feed.ts';
import type { EventStore } from '../../src/storage/storage.ts';
import { clusterPlaces } from '../storage/cluster-place.ts';
import { type Bench, sqlitePlace, storeTests } from '../storage/place.ts';
import { until } from '../support/wait.ts';

const eventFilter = unrestrictedFilter();

/** A feed in which a category is created after the first read of the events. */
function racing({ store, clock }: Bench) {
  const { events } = store;
  let id = 0n;
  const change = () =>
    store.write('putCategory', {
      ...{ params: { categoryId: ++id }, body: { name: 'Dogs' } },
      ...{ preconditions: {}, now: clock.now() },
    });
  const racingOnce = <Args extends unknown[], Found>(read: (...args: Args) => Promise<Found> | Found) => {
    let isFirst = true;
    return async (...args: Args) => {
      const found = await read(...args);
      if (isFirst) await change();
      isFirst = false;
      return found;
    };
  };
  const racingStore: EventStore = {
    list: racingOnce((after, limit) => events.list(after, limit)),
    newest: racingOnce((limit) => events.newest(limit)),
    bounds: () => events.bounds(),
  };
  const feed = new EventFeed(racingStore, clock);
  const page = async (after?: bigint) => {
    const { items, next } = await feed.page({ after, limit: 10, eventFilter, waitSeconds: 0 });
    return { ids: items.map((event) => event.id), next: BigInt(next ?? -1) };
  };
  return { change, feed, page };
}

describe.each(Object.entries({ SQLite: sqlitePlace, ...(await clusterPlaces()) }))(
  'on %s',
  (_name, place) => {
    const test = storeTests(place);

    test('an event recorded while an empty page is read appears on the next page', async (bench) => {
      const { page } = racing(bench);
      const empty = await page();
      expect(empty).toEqual({ ids: [], next: 0n });
      expect(await page(empty.next)).toEqual({ ids: [1n], next: 1n });
    });

    test('an event recorded while the page after the newest event is read appears on the next page', async (bench) => {
      const { change, page } = racing(bench);
      await change();
      expect(await page(1n)).toEqual({ ids: [], next: 1n });
      expect(await page(1n)).toEqual({ ids: [2n], next: 2n });
    });

    test('a reader whose position precedes a gap gets an error that names the next event', async (bench) => {
      await bench.store.write('skipEvents', null);
      await racing(bench).change();
      await bench.store.write('skipEvents', null);
      using feed = new EventFeed(bench.store.events, bench.clock);
      const reading = async () => feed.page({ after: 2n, limit: 10, eventFilter, waitSeconds: 0 });
      await expect(reading()).rejects.toThrow('the next id is 4.');
    });

    test('a page without a match examines up to 10,000 events, and with a wait it continues to the first match', async ({
      store,
      clock,
    }) => {
      const body = { name: 'Ozzy', categoryId: 1n, status: 'available' } as const;
      const add = () => store.write('createPet', { body, now: clock.now() });
      for (let added = 0; added < 10_500; added += 500) await Promise.all(Array.from({ length: 500 }, add));
      await store.write('putCategory', {
        ...{ params: { categoryId: 1n }, body: { name: 'Dogs' } },
        ...{ preconditions: {}, now: clock.now() },
      });
      // On PostgreSQL, events get their ids after they are committed.
      await until(async () => (await store.events.bounds()).last === 10_501n);
      // No read waits for its turn, and the clock stands still.
      using feed = new EventFeed(store.events, clock, undefined, new FairQueue());
      const categories = unrestrictedFilter(['category.*']);
      const guard = () => () => undefined;
      const page = async (waitSeconds: number) => {
        const { items, next } = await feed.page({
          after: 0n,
          limit: 10,
          eventFilter: categories,
          waitSeconds,
          guard,
        });
        return [items.map(({ id }) => id), next];
      };
      expect(await page(0)).toEqual([[], '10000']);
      expect(await page(30)).toEqual([[10_501n], '10501']);
    });

    test('a waiting request keeps only a few of the examined events in memory', async (bench) => {
      await racing(bench).change();
      await until(async () => (await bench.store.events.bounds()).last === 1n);
      const [event] = await bench.store.events.list(0n, 1);
      const read: WeakRef<object>[] = [];
      let kept = 0;
      // Repeats the event in batches of 500, the last of which is not full.
      const store: EventStore = {
        newest: (limit) => bench.store.events.newest(limit),
        bounds: () => bench.store.events.bounds(),
        list: async (after) => {
          const count = read.length < 20 ? 500 : 1;
          const found = Array.from({ length: count }, (_, at) => ({
            ...(event as NonNullable<typeof event>),
            id: (after ?? 0n) + BigInt(at + 1),
          }));
          read.push(new WeakRef(found));
          if (read.length === 20) {
            await new Promise((resolve) => setImmediate(resolve));
            Bun.gc(true);
            kept = read.filter((batch) => batch.deref() !== undefined).length;
          }
          return found;
        },
      };
      using searching = new EventFeed(store, bench.clock, undefined, new FairQueue());
      const orders = unrestrictedFilter(['order.*']);
      const request = {
        after: 0n,
        limit: 10,
        eventFilter: orders,
        waitSeconds: 30,
        guard: () => () => undefined,
      };
      void searching.page(request);
      await until(() => read.length > 20);
      expect(kept).toBeLessThan(10);
    });

    test('an event recorded while the newest position of an empty feed is read comes after that position', async (bench) => {
      const { feed, page } = racing(bench);
      const { items, next } = await feed.newest(1, eventFilter);
      expect([items, next]).toEqual([[], '0']);
      await page(0n);
      expect(await page(0n)).toMatchObject({ ids: [1n, 2n] });
    });
  },
);
