/** Clients that reconnect without pause cannot keep a turn of the event loop going. */
import { expect, test } from 'bun:test';
import { LoopTurn } from '../../src/http/listener/loop-turn.ts';

test('requests that arrive after a turn is over wait until timers and other connections have had their turn, and keep their order', async () => {
  const turn = new LoopTurn();
  const order: string[] = [];
  const serve = (name: string) => turn.run(() => void order.push(name));
  serve('first');
  Bun.sleepSync(20);
  setImmediate(() => order.push('other work'));
  const late = [serve('second'), serve('third')];
  await Promise.all(late);
  expect(order).toEqual(['first', 'other work', 'second', 'third']);
  expect(late[0]).toBeInstanceOf(Promise);
});

test('requests at the beginning of a turn are served without waiting', () => {
  const turn = new LoopTurn();
  expect(turn.run(() => 'served')).toBe('served');
});
