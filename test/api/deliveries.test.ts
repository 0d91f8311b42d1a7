/** Webhook deliveries that are stored and listed. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { leaseLevels } from '../../src/domain/delivery.ts';
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

/** A webhook with this many pending deliveries. */
async function withDeliveries(count: number) {
  const owner = await buyerOf(app);
  const { last } = await storage.events.bounds();
  const webhookId = await created(owner);
  for (let added = 0; added < count; added++) await owner.addPet();
  const now = app.clock.now();
  await storage.write('dispatchDeliveries', {
    settled: [],
    lease: {
      now,
      leasedUntil: now,
      room: 0,
      after: 0n,
      held: {},
      heldOfFast: {},
      heldOfOthers: {},
      limits: leaseLevels[0],
      full: [],
      fast: [],
      waiting: [],
      perSecond: 10_000,
      round: 0,
    },
  });
  const events = Array.from({ length: count }, (_, at) => last + BigInt(at + 1));
  return { owner, events, list: `/webhooks/${webhookId}/deliveries` };
}

interface Listed {
  readonly id: bigint;
  readonly eventId: bigint;
}

test('deliveries are paginated, newest first, and can be filtered by status', async () => {
  const { owner, events, list } = await withDeliveries(5);
  const all = (await owner.call('GET', list)).json as Listed[];
  expect(all.map(({ eventId }) => eventId)).toEqual(events.toReversed());
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

test('a delivery cursor is rejected for another webhook or status', async () => {
  const { owner, list } = await withDeliveries(2);
  const link = (await owner.call('GET', `${list}?limit=1`)).header('Link');
  const cursor = /cursor=([^>]+)>/.exec(link)?.[1];
  const id = await created(owner);
  for (const foreign of [`/webhooks/${id}/deliveries?`, `${list}?status=pending&`]) {
    const answer = await owner.call('GET', `${foreign}cursor=${cursor}`);
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_cursor', ['query:cursor']]);
  }
});
