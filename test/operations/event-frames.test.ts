import { expect, test } from 'bun:test';
import type { EventRepresentation } from '../../src/contract/representations.ts';
import { SharedEncoder } from '../../src/operations/events/stream.ts';

const event = (id: number, accountId: number | null): EventRepresentation => ({
  ...{ id: BigInt(id), accountId, createdAt: 0 },
  ...(accountId === null
    ? { type: 'category.created', data: '{}' }
    : { type: 'webhook.disabled', data: '{}' }),
});

const filterOf = (accountId: number) => ({
  ...{ eventFilter: { types: new Set(['category.created', 'webhook.disabled'] as const), accountId } },
  ...{ types: 'category.created,webhook.disabled', caller: { keyId: accountId, accountId } },
});

const idsIn = (chunks: readonly Uint8Array[]) =>
  chunks.flatMap((chunk) =>
    [
      ...Buffer.from(chunk)
        .toString()
        .matchAll(/^id: (\d+)$/gm),
    ].map(([, id]) => id),
  );

test('streams of different accounts share an encoded batch only if all accounts may read its events', () => {
  const frames = new SharedEncoder();
  const open = [event(1, null), event(2, null)];
  expect(idsIn(frames.encode(open, filterOf(1)))).toEqual(['1', '2']);
  expect(frames.encode(open, filterOf(2))).toBe(frames.encode(open, filterOf(1)));
  const mixed = [event(3, 1), event(4, null), event(5, 2)];
  expect(idsIn(frames.encode(mixed, filterOf(1)))).toEqual(['3', '4']);
  expect(idsIn(frames.encode(mixed, filterOf(2)))).toEqual(['4', '5']);
  expect(idsIn(frames.encode(mixed, filterOf(3)))).toEqual(['4']);
});
