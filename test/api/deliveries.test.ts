/** Deliveries of webhooks as the service stores and lists them. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { faulty, linksOf, relative } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());
const { storage } = app.operator;

async function created(owner: Buyer): Promise<bigint> {
  const answer = await owner.call('POST', '/webhooks', { body: '{"url":"https://shop.example/webhooks"}' });
  return (answer.json as { readonly id: bigint }).id;
}

function changeStore(statement: string, ...values: (string | bigint)[]): void {
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''));
  database.run('PRAGMA busy_timeout = 10000');
  database.run(statement, values);
}

/** A webhook with pending deliveries of this many events. */
async function withDeliveries(count: number) {
  const owner = await buyerOf(app);
  const before = await storage.events.bounds();
  const id = await created(owner);
  const { position } = (await storage.webhooks.find(id)) ?? {};
  expect(position).toBe(before.last);
  const events = Array.from({ length: count }, (_, at) => {
    return { id: before.last + BigInt(at + 1), type: 'pet.created' } as const;
  });
  const queued = {
    webhookId: id,
    after: before.last,
    events,
    position: events.at(-1)?.id ?? 0n,
    now: app.clock.now(),
  };
  return { owner, id, queued, list: `/webhooks/${id}/deliveries` };
}

interface Listed {
  readonly id: bigint;
  readonly eventId: bigint;
}

test('deliveries of events are made once, however many processes look for them, and not for a disabled webhook', async () => {
  const { owner, id, queued, list } = await withDeliveries(3);
  await owner.call('PATCH', `/webhooks/${id}`, { body: '{"enabled":false}' });
  expect(await storage.write('queueDeliveries', queued)).toBe(false);
  await owner.call('PATCH', `/webhooks/${id}`, { body: '{"enabled":true}' });
  const stores = [storage, app.app.admin.storage, storage];
  const done = await Promise.all(stores.map((store) => store.write('queueDeliveries', queued)));
  expect(done.sort()).toEqual([false, false, true]);
  expect((await owner.call('GET', list)).json).toHaveLength(3);
});

test('deliveries are listed newest first, page by page, and by status', async () => {
  const { owner, queued, list } = await withDeliveries(5);
  await storage.write('queueDeliveries', queued);
  const all = (await owner.call('GET', list)).json as Listed[];
  expect(all.map(({ eventId }) => eventId)).toEqual(queued.events.map((event) => event.id).toReversed());
  const [newest] = all;
  expect(newest).toMatchObject({ type: 'pet.created', status: 'pending', attempts: [] });
  const attempt = { at: '2026-11-22T09:30:00.000Z', milliseconds: 31, error: 'refused' };
  const change = 'UPDATE deliveries SET status = ?, attempts = ?, next_attempt_at = NULL WHERE id = ?';
  changeStore(change, 'failed', JSON.stringify([attempt]), newest?.id ?? 0n);
  const [failed, ...others] = (await owner.call('GET', `${list}?status=failed`)).json as Listed[];
  expect([failed, others]).toEqual([
    {
      ...newest,
      status: 'failed',
      attempts: [{ ...attempt, milliseconds: 31n }],
      nextAttemptAt: undefined,
    } as never,
    [],
  ]);
  const pages: Listed[] = [];
  for (let next: string | undefined = `${list}?limit=2&status=pending`; next !== undefined; ) {
    const answer = await owner.call('GET', next);
    pages.push(...(answer.json as Listed[]));
    const link = linksOf(answer).next;
    next = link && relative(link);
  }
  expect(pages).toEqual(all.slice(1));
});

test('deliveries of one webhook have no cursor of another, and none of another status', async () => {
  const { owner, queued, list } = await withDeliveries(2);
  await storage.write('queueDeliveries', queued);
  const link = (await owner.call('GET', `${list}?limit=1`)).header('Link');
  const cursor = /cursor=([^>]+)>/.exec(link)?.[1];
  const id = await created(owner);
  for (const foreign of [`/webhooks/${id}/deliveries?`, `${list}?status=pending&`]) {
    const answer = await owner.call('GET', `${foreign}cursor=${cursor}`);
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_cursor', ['query:cursor']]);
  }
});

test('deliveries are deleted with their webhook', async () => {
  const { owner, id, queued } = await withDeliveries(2);
  await storage.write('queueDeliveries', queued);
  expect(await storage.deliveries.list(undefined, 9, { webhookId: id })).toHaveLength(2);
  await owner.call('DELETE', `/webhooks/${id}`);
  expect(await storage.deliveries.list(undefined, 9, { webhookId: id })).toEqual([]);
});
