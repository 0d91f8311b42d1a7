import { expect, test } from 'bun:test';
import { ReadLimits } from '../../src/http/admin/read-limits.ts';

const connected = { signal: new AbortController().signal };

/** A read that ends when `end` is called. */
function heldRead() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { read: () => promise, end: () => resolve('done') };
}

const codeOf = (read: Promise<unknown>) =>
  read.then(
    () => 'ok',
    ({ code }) => code,
  );

test('the event loop runs between the reads of an operator', async () => {
  const limits = new ReadLimits();
  let ticks = 0;
  let isOver = false;
  const count = () => {
    ticks++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(Array.from({ length: 20 }, () => limits.run('anna', connected, () => 'done')));
  isOver = true;
  expect(ticks).toBeGreaterThanOrEqual(8);
});

test('an operator has two reads in progress, and those of other operators do not wait for them', async () => {
  const limits = new ReadLimits();
  const held = [heldRead(), heldRead()];
  const reads = held.map(({ read }) => limits.run('anna', connected, read));
  let hasBegun = false;
  const third = limits.run('anna', connected, ({ hasWaited }) => {
    hasBegun = true;
    return hasWaited ? 'third' : '';
  });
  expect(await limits.run('ben', connected, () => 'other')).toBe('other');
  expect(hasBegun).toBe(false);
  held[0]?.end();
  expect(await third).toBe('third');
  held[1]?.end();
  expect(await Promise.all(reads)).toEqual(['done', 'done']);
});

test('a read that pauses makes room for another, and continues in turn', async () => {
  const limits = new ReadLimits();
  const held = [heldRead(), heldRead(), heldRead()] as const;
  const event = heldRead();
  let hasContinued = false;
  const pausing = limits.run('anna', connected, async ({ pause }) => {
    await pause(event.read);
    hasContinued = true;
  });
  const reads = held.slice(0, 2).map(({ read }) => limits.run('anna', connected, read));
  const waiting = limits.run('anna', connected, held[2].read);
  event.end();
  // The read that was waiting first has the first turn.
  held[0].end();
  expect(await reads[0]).toBe('done');
  expect(hasContinued).toBe(false);
  held[2].end();
  expect(await waiting).toBe('done');
  expect(hasContinued).toBe(false);
  await pausing;
  held[1].end();
  await reads[1];
  expect(await limits.run('anna', connected, () => 'next')).toBe('next');
});

test('a read whose wait fails is no longer in progress', async () => {
  const limits = new ReadLimits();
  for (let at = 0; at < 3; at++) {
    const failing = limits.run('anna', connected, ({ pause }) =>
      pause(() => Promise.reject(new Error('gone'))),
    );
    expect(await failing.catch(({ message }) => message)).toBe('gone');
  }
  expect(await limits.run('anna', connected, () => 'done')).toBe('done');
});

test('the 65th waiting read of an operator is rejected with 503', async () => {
  const limits = new ReadLimits();
  const held = [heldRead(), heldRead()];
  const reads = held.map(({ read }) => limits.run('anna', connected, read));
  const waiting = Array.from({ length: 64 }, () => limits.run('anna', connected, () => 'done'));
  expect(await codeOf(limits.run('anna', connected, () => 'done'))).toBe('service_unavailable');
  for (const { end } of held) end();
  await Promise.all([...reads, ...waiting]);
});

test('a waiting read is skipped when its client disconnects', async () => {
  const limits = new ReadLimits();
  const held = [heldRead(), heldRead()];
  const reads = held.map(({ read }) => limits.run('anna', connected, read));
  const client = new AbortController();
  let hasRun = false;
  const skipped = limits.run('anna', { signal: client.signal }, () => {
    hasRun = true;
    return 'done';
  });
  client.abort();
  expect(await codeOf(skipped)).toBe('internal_error');
  for (const { end } of held) end();
  await Promise.all(reads);
  expect(await limits.run('anna', connected, () => 'next')).toBe('next');
  expect(hasRun).toBe(false);
});

test('a read that fails does not prevent later reads', async () => {
  const limits = new ReadLimits();
  const fail = () => limits.run('anna', connected, () => Promise.reject(new Error('no such table')));
  for (let at = 0; at < 4; at++) expect(await fail().catch(({ message }) => message)).toBe('no such table');
  expect(await limits.run('anna', connected, () => 'done')).toBe('done');
});
