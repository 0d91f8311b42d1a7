import { expect, test } from 'bun:test';
import { ReadTurns } from '../../src/http/admin/read-turns.ts';

const connected = new Request('http://localhost/');

test('the event loop runs between the reads of operators, even if an operator sends hundreds', async () => {
  const turns = new ReadTurns();
  let ticks = 0;
  let isOver = false;
  const count = () => {
    ticks++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const reads = Array.from({ length: 10 }, () => turns.run('operator:anna', connected, () => ({})));
  await Promise.all(reads);
  isOver = true;
  expect(ticks).toBeGreaterThanOrEqual(9);
});

test('reads alternate between operators, and one runs at a time', async () => {
  const turns = new ReadTurns();
  const begun: string[] = [];
  let running = 0;
  const read = (owner: string) =>
    turns.run(owner, connected, async () => {
      expect(++running).toBe(1);
      begun.push(owner);
      await Promise.resolve();
      running--;
      return {};
    });
  await Promise.all(['anna', 'anna', 'anna', 'ben'].map(read));
  expect(begun).toEqual(['anna', 'anna', 'ben', 'anna']);
});

test('a read whose client has disconnected is skipped', async () => {
  const turns = new ReadTurns();
  const request = new Request('http://localhost/', { signal: AbortSignal.abort() });
  let hasRun = false;
  const read = turns.run('operator:anna', request, () => {
    hasRun = true;
    return {};
  });
  expect(await read.catch(({ code }) => code)).toBe('service_unavailable');
  expect(hasRun).toBe(false);
});
