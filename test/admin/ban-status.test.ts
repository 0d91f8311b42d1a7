/** `GET /admin/v1/keys/{keyId}/ban-status`: a key's strikes and bans, for operators. */
import { afterAll, expect, test } from 'bun:test';
import { openDesk } from '../support/admin-answers.ts';

const desk = await openDesk({ BAN_STRIKES: '3' });
const { app, ask, done } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const statusOf = (keyId: number) => done<object>('GET', `/keys/${keyId}/ban-status`);
const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
const rules = { strikesToBan: 3, withinSeconds: 600 };
const none = { ...rules, strikes: 0, bans: 0, lastBan: null, nextBanSeconds: 120 };

async function tenant() {
  const { key, keyId } = await app.tenant('enterprise', { perMinute: 1, perDay: 1_000_000 });
  const send = async (times: number) => {
    for (let sent = 0; sent < times; sent++) await app.call('GET', '/pets', { key });
  };
  /** Exhausts the per-minute limit, and waits until additional requests count as strikes. */
  const exhaust = async () => {
    await send(2);
    app.clock.advance(2);
  };
  return { keyId, send, exhaust };
}

test("each request that ignores a 429's Retry-After counts as a strike for ten minutes", async () => {
  const { keyId, send, exhaust } = await tenant();
  expect(await statusOf(keyId)).toEqual(none);
  await exhaust();
  expect(await statusOf(keyId)).toEqual(none);
  await send(2);
  expect(await statusOf(keyId)).toEqual({ ...none, strikes: 2 });
  app.clock.advance(601);
  expect(await statusOf(keyId)).toEqual(none);
});

test('a ban clears the strikes, and a second ban within 24 hours lasts twice as long', async () => {
  const { keyId, send, exhaust } = await tenant();
  await exhaust();
  await send(3);
  const first = { from: inSeconds(0), until: inSeconds(120) };
  expect(await statusOf(keyId)).toEqual({ ...none, bans: 1, lastBan: first, nextBanSeconds: 240 });
  app.clock.advance(120);
  await exhaust();
  await send(3);
  const second = { from: inSeconds(0), until: inSeconds(240) };
  const afterTwo = { ...none, bans: 2, lastBan: second, nextBanSeconds: 480 };
  expect(await statusOf(keyId)).toEqual(afterTwo);
  app.clock.advance(240 + 86_399);
  expect(await statusOf(keyId)).toEqual(afterTwo);
  app.clock.advance(1);
  expect(await statusOf(keyId)).toEqual(none);
});

test('a lifted ban no longer lengthens the next ban', async () => {
  const { keyId, send, exhaust } = await tenant();
  await exhaust();
  await send(3);
  expect((await ask('DELETE', `/bans/${keyId}`)).status).toBe(204);
  expect(await statusOf(keyId)).toEqual(none);
});

test('reading the ban status does not count as a request', async () => {
  const { keyId, send } = await tenant();
  await send(2);
  for (let read = 0; read < 5; read++) await statusOf(keyId);
  expect(await statusOf(keyId)).toEqual(none);
});
