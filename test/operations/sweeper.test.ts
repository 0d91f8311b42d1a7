/** Rows of deleted webhooks are removed in the background. */
import { afterAll, describe, expect, test } from 'bun:test';
import { Sweeper } from '../../src/operations/sweeper.ts';
import { type Store, units } from '../../src/operations/units.ts';
import type { SweepPosition, Transaction } from '../../src/storage/transaction.ts';
import { deletedWebhookOwner } from '../../src/tables/webhooks.ts';
import { openCatalogue } from '../storage/catalogue-kit.ts';
import { clusterPlaces } from '../storage/cluster-place.ts';
import { type Bench, sqlitePlace, storeTests } from '../storage/place.ts';
import { newPet } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

const count = 2_300;

const ofTests = {
  addWebhook: {
    writes: ['webhooks'],
    run: async ({ webhooks, deliveries }: Transaction, accountId: number) => {
      const stored = { accountId, url: 'https://shop.example/', secret: 'sealed', createdAt: 1 };
      const { id: webhookId } = await webhooks.add({
        ...stored,
        types: ['pet.*'],
        enabled: true,
        position: 0n,
      });
      await addDeliveries({ deliveries }, webhookId);
      return webhookId;
    },
  },
  addDeliveries: { writes: ['webhooks'], run: addDeliveries },
} as const;

async function addDeliveries(
  { deliveries }: Pick<Transaction, 'deliveries'>,
  webhookId: bigint,
): Promise<void> {
  const finished = { webhookId, status: 'succeeded', attempts: '[]', createdAt: 1 } as const;
  const sent = { eventId: 1n, type: 'pet.created', finishedAt: new FakeClock().now() } as const;
  // All at once, so that the transaction is short.
  await Promise.all(Array.from({ length: count }, () => deliveries.add({ ...finished, ...sent })));
}

const deletion = (webhookId: bigint) => ({
  ...{ params: { webhookId }, preconditions: {}, now: 1 },
  caller: { accountId: 1, scopes: ['webhooks:write'] as const },
});

const events = { areRecorded: true, keepMs: 0 };

/** Sweeps until nothing is left, or until `onStep` aborts the sweep after the unit with the given name. */
async function sweep(
  store: Store,
  { clock }: Bench,
  onStep: (ending: AbortController, name: string) => unknown = () => undefined,
): Promise<void> {
  const ending = new AbortController();
  const write = (async (name: 'sweepWebhooks', input: null) => {
    const outcome = await store.write(name, input);
    await onStep(ending, name);
    return outcome;
  }) as Store['write'];
  const sweeper = new Sweeper({ store: { write, events: store.events }, clock, events }, ending.signal);
  sweeper.start();
  await sweeper.idle();
}

describe.each(Object.entries({ SQLite: sqlitePlace, ...(await clusterPlaces()) }))(
  'on %s',
  (_name, place) => {
    const check = storeTests(place);

    check(
      'an interrupted sweep is completed after a restart, even by two processes at once',
      async (bench) => {
        const { write } = await bench.besideWith(ofTests);
        const [first, second, retained] = [
          await write('addWebhook', 1),
          await write('addWebhook', 1),
          await write('addWebhook', 1),
        ];
        await bench.store.write('deleteWebhook', deletion(first));
        await bench.store.write('deleteWebhook', deletion(second));
        const left = async (store: Store, webhookId: bigint) =>
          (await store.deliveries.list(undefined, 2 * count, { webhookId })).length;

        const seen: [number, string][] = [];
        await sweep(bench.store, bench, async (ending) => {
          const { name } = await bench.store.write('createPet', { body: newPet(`${seen.length}`), now: 1 });
          seen.push([await left(bench.store, first), name]);
          if (seen.length === 2) ending.abort();
        });
        expect(seen.map(([, name]) => name)).toEqual(['0', '1']);
        expect(seen.every(([deliveries]) => deliveries > 0 && deliveries < count)).toBe(true);

        const stores = [await bench.restart(), await bench.beside()];
        for (let rounds = 0; rounds < 2; rounds++)
          await Promise.all(stores.map((store) => sweep(store, bench)));
        const [store] = stores as [Store];
        expect(await Promise.all([first, second, retained].map((id) => left(store, id)))).toEqual([
          0,
          0,
          count,
        ]);
        expect((await store.webhooks.list()).map(({ id }) => id)).toEqual([retained]);
      },
    );
  },
);

describe('on SQLite', () => {
  const check = storeTests(sqlitePlace);

  check('a sweep runs every unit that removes rows in the background', async (bench) => {
    const ran = new Set<string>();
    await sweep(bench.store, bench, (_, name) => {
      ran.add(name);
      // Expired rows are removed once a minute has passed.
      bench.clock.advance(60);
    });
    expect([...ran].sort()).toEqual(
      Object.keys(units)
        .filter((name) => /^(sweep|prune|trim)/.test(name))
        .sort(),
    );
  });

  check(
    'webhooks that are deleted faster than their rows are removed do not prevent other removals',
    async (bench) => {
      const { write } = await bench.besideWith(ofTests);
      const remove = async () => bench.store.write('deleteWebhook', deletion(await write('addWebhook', 1)));
      await remove();
      const ran: string[] = [];
      await sweep(bench.store, bench, async (_, name) => {
        ran.push(name);
        bench.clock.advance(20);
        if (name === 'sweepWebhooks') await remove();
      });
      expect(ran.filter((name) => name === 'sweepWebhooks')).toHaveLength(3);
      expect(ran).toContain('pruneEvents');
    },
  );

  check(
    'a sweep leaves the newest 10,000 finished deliveries of a webhook, however recent they are',
    async (bench) => {
      const { write } = await bench.besideWith(ofTests);
      const webhookId = await write('addWebhook', 1);
      for (let added = count; added < 10_000 + count; added += count) await write('addDeliveries', webhookId);
      const sweeper = new Sweeper(
        { store: bench.store, clock: bench.clock, events },
        new AbortController().signal,
      );
      bench.clock.advance(60);
      sweeper.start();
      await sweeper.idle();
      expect(await bench.store.deliveries.list(undefined, 20_000, { webhookId })).toHaveLength(10_000);
    },
  );
});

test.skipIf(servers === undefined)(
  'a locked delivery of a deleted webhook delays only the removal of that webhook, until the next sweep',
  async () => {
    const { makeSchema } = servers as NonNullable<typeof servers>;
    const addWebhook = {
      writes: ['webhooks'],
      run: async ({ webhooks, deliveries }: Transaction, _: null) => {
        const stored = { accountId: deletedWebhookOwner, url: 'https://shop.example/', secret: 'sealed' };
        const sent = { types: ['pet.*'], enabled: false, position: 0n, createdAt: 1 } as const;
        const { id: webhookId } = await webhooks.add({ ...stored, ...sent });
        const finished = { webhookId, status: 'succeeded', attempts: '[]', createdAt: 1 } as const;
        await deliveries.add({ ...finished, eventId: 1n, type: 'pet.created', finishedAt: 1 });
      },
    } as const;
    await using store = await openCatalogue(makeSchema, { addWebhook }, 1);
    for (let added = 0; added < 3; added++) await store.first.write('addWebhook', null);
    const sweepAll = async () => {
      for (let after: SweepPosition | null = null, steps = 0; steps < 20; steps++) {
        after =
          ((await store.first.write('sweepWebhooks' as never, after as never)) as
            | SweepPosition
            | undefined) ?? null;
        if (after === null) return [...(await store.session`SELECT id FROM webhooks ORDER BY id`)];
      }
      throw new Error('The sweep does not end.');
    };
    await store.session`BEGIN`;
    await store.session`SELECT FROM deliveries WHERE webhook_id = 1 FOR UPDATE`;
    expect(await sweepAll()).toEqual([{ id: 1n }]);
    await store.session`COMMIT`;
    expect(await sweepAll()).toEqual([]);
  },
);
