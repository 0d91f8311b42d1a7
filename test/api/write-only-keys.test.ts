/** A key that can change a resource but not read it receives no data in the response. */
import { expect, test } from 'bun:test';
import { bodyExamples } from '../../scripts/openapi/examples.ts';
import { isRead } from '../../src/contract/operation.ts';
import { allOperations } from '../../src/contract/operations.ts';
import type { OrderTransition } from '../../src/domain/order-status.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { startAppForFile } from '../support/app.ts';
import { buyerOf, clientOf } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';

const app = await startAppForFile();

const owner = await buyerOf(app);

type Row = (typeof allOperations)[number];
/** A single scope allows both reading and changing webhooks. */
const changes = allOperations.filter((operation) => !isRead(operation) && operation.needs === undefined);

const secret = 'Confidential';
/** Transitions that an order must have completed before the operation. */
const before: Readonly<Record<string, readonly OrderTransition[]>> = {
  deliverOrder: ['approve'],
  returnOrder: ['approve', 'deliver'],
};

/** Creates resources that contain the secret text, and returns the target and options of a request that changes one. */
async function changeOf(row: Row) {
  const { path, operationId } = row;
  const { id: petId } = (await owner.call('POST', '/pets', { body: newPet(secret) })).json as { id: bigint };
  await owner.call('PUT', '/categories/7', { body: `{"name":"${secret}"}` });
  let orderId = 0n;
  if (path.includes('{orderId}')) {
    const placed = await owner.place(petId, { body: `{"petId":${petId},"reference":"${secret}"}` });
    orderId = (placed.json as { id: bigint }).id;
    for (const step of before[operationId] ?? []) await owner.step(orderId, step);
  }
  const [example] = row.body === undefined ? [] : Object.values(bodyExamples(row));
  const bodies: Readonly<Record<string, string>> = { updatePet: '{}', placeOrder: `{"petId":${petId}}` };
  const body = bodies[operationId] ?? (example && JSON.stringify(example.value));
  const ids: Readonly<Record<string, bigint>> = { petId, categoryId: 7n, orderId };
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
  return [target, body === undefined ? {} : { body }] as const;
}

test.each(changes)('$operationId returns only data that the client sent', async (row) => {
  const writer = await buyerOf(app, [row.scope as Scope]);
  const answer = await writer.call(row.method, ...(await changeOf(row)));
  expect(answer.status).toBeLessThan(300);
  expect(answer.text).not.toContain(secret);
  if (row.readScope === undefined) return;
  expect([answer.status, answer.text, answer.headers.has('ETag')]).toEqual([204, '', false]);
});

const shown = changes.filter(({ readScope }) => readScope !== undefined);

test.each(shown)('$operationId returns the result to a key that is allowed to read it', async (row) => {
  const both = await buyerOf(app, [row.scope as Scope, row.readScope as Scope]);
  const answer = await both.call(row.method, ...(await changeOf(row)));
  expect([answer.status, answer.headers.has('ETag')]).toEqual([200, true]);
  expect(answer.text).toContain(secret);
});

test('a replayed response to a write-only key has no body', async () => {
  const approve = changes.find(({ operationId }) => operationId === 'approveOrder') as Row;
  const [target] = await changeOf(approve);
  const once = { headers: { 'Idempotency-Key': 'once' } };
  expect((await owner.call('POST', target, once)).text).toContain(secret);
  const { key } = await app.operator.keys.create(owner.account.id, 'writer', undefined, ['orders:write']);
  const repeated = await clientOf(app, key).call('POST', target, once);
  expect([repeated.status, repeated.text]).toEqual([204, '']);
  expect(repeated.header('Idempotent-Replayed')).toBe('true');
});
