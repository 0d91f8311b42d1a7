/** The event reader shared by all waiting requests and streams of a process, tested on a real store. */
import { expect, test } from 'bun:test';
import { operations } from '../../src/contract/operations.ts';
import type { EventRepresentation } from '../../src/contract/representations.ts';
import type { Authenticated } from '../../src/operations/admission/admission.ts';
import { ClientOperations } from '../../src/operations/client-operations.ts';
import { type EndReason, EventTail } from '../../src/operations/events/tail.ts';
import { startAppForFile } from '../support/app.ts';
import { clientDependencies, requestContextOf } from '../support/request-context.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();
const { storage } = app.app.admin;

async function add(count = 1): Promise<void> {
  const body = { name: 'Ozzy', categoryId: 1n, status: 'available' } as const;
  await Promise.all(Array.from({ length: count }, () => storage.write('createPet', { body, now: 1 })));
}

const last = async () => (await storage.events.bounds()).last;

class Recorder {
  readonly until: number;
  readonly ids: bigint[] = [];
  reason: EndReason | undefined;

  constructor(seconds = Number.POSITIVE_INFINITY) {
    this.until = app.clock.steady() + seconds * 1_000;
  }

  receive(events: readonly EventRepresentation[]): void {
    this.ids.push(...events.map(({ id }) => id));
  }

  end(reason: EndReason): void {
    this.reason = reason;
  }
}

const idsFrom = (first: bigint, count: number) =>
  Array.from({ length: count }, (_, at) => first + BigInt(at));

test("each event after a listener's position is delivered exactly once and in order, independently of other listeners", async () => {
  using tail = new EventTail(storage.events, app.clock);
  const from = await last();
  const [first, ahead, later] = [new Recorder(), new Recorder(), new Recorder()];
  expect(tail.listen(from, first)).toBe(true);
  await add(3);
  // This listener has already read two of the events from the store.
  expect(tail.listen(from + 2n, ahead)).toBe(true);
  await until(() => first.ids.length === 3);
  expect(ahead.ids).toEqual([from + 3n]);
  expect(tail.listen(from + 2n, later)).toBe(false);
  expect(tail.listen(from + 3n, later)).toBe(true);
  await add(2_500);
  await until(() => first.ids.length === 2_503 && later.ids.length === 2_500);
  expect(first.ids).toEqual(idsFrom(from + 1n, 2_503));
  expect(ahead.ids).toEqual(idsFrom(from + 3n, 2_501));
  expect(later.ids).toEqual(idsFrom(from + 4n, 2_500));
});

test('a closed listener receives no events, and the next listener starts at its own position', async () => {
  using tail = new EventTail(storage.events, app.clock);
  const [gone, next] = [new Recorder(), new Recorder()];
  tail.listen(await last(), gone);
  tail.leave(gone);
  expect(tail.listeners).toBe(0);
  await add(2);
  const from = (await last()) - 1n;
  expect(tail.listen(from, next)).toBe(true);
  tail.wake();
  await until(() => next.ids.length === 1);
  expect([gone.ids, next.ids]).toEqual([[], [from + 1n]]);
});

test('each listener ends after its timeout, and all listeners, including new ones, end when the tail is closed', async () => {
  using tail = new EventTail(storage.events, app.clock);
  const [short, long, late] = [new Recorder(10), new Recorder(), new Recorder()];
  const from = await last();
  tail.listen(from, short);
  tail.listen(from, long);
  app.clock.advance(10);
  await until(() => short.reason !== undefined);
  expect([short.reason, long.reason]).toEqual(['time', undefined]);
  tail[Symbol.dispose]();
  expect(tail.listen(from, late)).toBe(true);
  expect([long.reason, late.reason, tail.listeners]).toEqual(['closing', 'closing', 0]);
});

test('all listeners end at a gap, after they have received the events before it', async () => {
  using tail = new EventTail(storage.events, app.clock);
  const listener = new Recorder();
  const from = await last();
  await add();
  await storage.write('skipEvents', null);
  await add();
  tail.listen(from, listener);
  await until(() => listener.reason !== undefined);
  expect([listener.ids, listener.reason, tail.listeners]).toEqual([[from + 1n], 'gap', 0]);
});

test('all listeners end when the store is restored to a state that lacks events they have received', async () => {
  using tail = new EventTail(storage.events, app.clock);
  const listener = new Recorder();
  tail.listen((await last()) + 5n, listener);
  await until(() => listener.reason !== undefined);
  expect(listener.reason).toBe('gap');
});

test('all listeners end as soon as ids are skipped, without waiting for the next event', async () => {
  using tail = new EventTail(storage.events, app.clock);
  const listener = new Recorder();
  tail.listen(await last(), listener);
  await storage.write('skipEvents', null);
  await until(() => listener.reason !== undefined);
  expect([listener.ids, listener.reason]).toEqual([[], 'gap']);
});

test('a change that may make deliveries due triggers a check without a new event', async () => {
  const parts = clientDependencies(app);
  using events = parts.events;
  let looks = 0;
  const receive = () => {
    looks++;
  };
  const after = await last();
  events.tail.listen(after, { until: Number.POSITIVE_INFINITY, isOwn: true, receive, end: () => undefined });
  const reader = new Recorder();
  events.tail.listen(after, reader);
  // Metrics count only listeners of clients and operators.
  expect(events.tail.listeners).toBe(1);
  const { key } = await app.tenant('pro');
  const made = await app.call('POST', '/webhooks', { key, body: '{"url":"https://shop.example/"}' });
  const { id: webhookId } = made.json as { readonly id: bigint };
  const { admission } = requestContextOf(app);
  const admitted = (await admission.admit({ kind: 'key', key }, () => '::1')) as Authenticated;
  await new ClientOperations(parts).perform(operations.redeliverEvents, {
    input: { params: { webhookId }, query: undefined, body: { after } },
    preconditions: {},
    once: undefined,
    admission: admitted,
    confirm: () => admitted,
  });
  expect([looks, reader.ids]).toEqual([1, []]);
});
