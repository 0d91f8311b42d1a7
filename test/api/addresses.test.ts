/** Failed authentications, counted against the caller's address (contract, section 6). */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

/** A request with an invalid key, forwarded for the given address. */
async function fail(app: TestApp, forwardedFor?: string): Promise<Answer> {
  const headers: Record<string, string> =
    forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor };
  return app.call('GET', '/pets', { key: 'wrong', headers });
}

/** Sends another failing request, and returns the number of failures still allowed for the address. */
async function left(app: TestApp, forwardedFor?: string): Promise<number> {
  return (await fail(app, forwardedFor)).number('X-RateLimit-Remaining');
}

const direct = await startTestApp();
/** A service behind a chain of proxies. Connections come from the first proxy. */
const proxied = await startTestApp({ TRUSTED_PROXIES: '::ffff:7f00:1, 10.0.0.0/8, 2001:db8:aaaa::/48' });
afterAll(() => Promise.all([direct[Symbol.asyncDispose](), proxied[Symbol.asyncDispose]()]));

/** Advances the clock by a minute, so that earlier failures no longer count. */
function minuteLater(app: TestApp): TestApp {
  app.clock.advance(60);
  return app;
}

describe('the limit on failures per address', () => {
  test('allows a fixed number of failures per minute; after that, invalid keys get 429, but valid keys are admitted', async () => {
    await using app = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '4' });
    const reset = app.clock.seconds + 60;
    for (const [remaining, key] of [
      [3, 'wrong'],
      [2, null],
      [1, 'wrong'],
      [0, null],
    ] as const) {
      const answer = await app.call('GET', '/pets', { key });
      expect(answer.status).toBe(401);
      expect(answer.number('X-RateLimit-Limit')).toBe(4);
      expect(answer.number('X-RateLimit-Remaining')).toBe(remaining);
      expect(answer.number('X-RateLimit-Reset')).toBe(reset);
    }
    app.clock.advance(10.5);
    for (const key of ['wrong', null]) {
      const refused = await app.call('GET', '/pets', { key });
      expect(refused.error).toMatchObject({ status: 429, code: 'too_many_failed_authentications' });
      expect(refused.number('Retry-After')).toBe(50);
      expect(refused.number('X-RateLimit-Remaining')).toBe(0);
      expect(refused.number('X-RateLimit-Reset')).toBe(reset);
      expect(refused.headers.has('WWW-Authenticate')).toBe(false);
    }
    expect((await app.call('GET', '/pets')).status).toBe(200);
    app.clock.advance(50);
    expect(await left(app)).toBe(3);
  });

  test('keeps its count when the clock is set back, and its Reset is set back with it', async () => {
    const app = minuteLater(direct);
    expect(await left(app)).toBe(599);
    app.clock.step(-3_600);
    const answer = await fail(app);
    expect(answer.number('X-RateLimit-Remaining')).toBe(598);
    expect(answer.number('X-RateLimit-Reset')).toBe(app.clock.seconds + 60);
  });
});

describe('X-Forwarded-For', () => {
  test('is ignored if the peer is not a trusted proxy', async () => {
    await using other = await startTestApp({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' });
    for (const app of [minuteLater(direct), other]) {
      expect(await left(app, '203.0.113.1')).toBe(599);
      expect(await left(app, '203.0.113.2')).toBe(598);
      expect(await left(app)).toBe(597);
    }
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8:0:0:1::'],
    ['203.0.113.1:4711', '203.0.113.1'],
    ['203.0.113.1:1, 203.0.113.1:2', ' 203.0.113.1 '],
    ['[2001:db8:1:2::1]:443', '2001:db8:1:2::2'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::2'],
    ['::FFFF:CB00:7101', '::ffff:203.0.113.1'],
    ['[::ffff:cb00:7101]:80', '203.0.113.1'],
    ['2001:db8:1:2::1%eth0', '2001:db8:1:2::1'],
  ])(
    'identifies all spellings of an address, and all addresses in an IPv6 /64, as one client: %s and %s',
    async (one, same) => {
      const app = minuteLater(proxied);
      expect([await left(app, one), await left(app, same), await left(app)]).toEqual([599, 598, 599]);
    },
  );

  test.each([
    ['203.0.113.1', '203.0.113.2'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['::1', '0:0:0:1::1'],
  ])('identifies unrelated addresses as different clients: %s and %s', async (one, other) => {
    const app = minuteLater(proxied);
    expect([await left(app, one), await left(app, other)]).toEqual([599, 599]);
  });

  test('is read from right to left and only through trusted proxies, so that clients cannot forge it', async () => {
    const app = minuteLater(proxied);
    expect(await left(app, '203.0.113.1')).toBe(599);
    expect(await left(app, '203.0.113.1, 10.1.2.3')).toBe(598);
    expect(await left(app, '203.0.113.1:4711, 2001:db8:aaaa::9, 10.1.2.3:80')).toBe(597);
    expect(await left(app, '198.51.100.7, 203.0.113.1')).toBe(596);
    expect(await left(app, '198.51.100.7, 203.0.113.1, 10.1.2.3')).toBe(595);
    expect(await left(app, 'junk, 203.0.113.1')).toBe(594);
    expect(await left(app, '198.51.100.7')).toBe(599);
  });

  test('yields the last valid address if the next one is invalid', async () => {
    const app = minuteLater(proxied);
    let expected = 600;
    for (const junk of [
      ...['junk', '', ',', 'unknown', '1.2.3', '1.2.3.4.5', '010.0.0.1', '0x7f000001', '203.0.113.256'],
      ...['203.0.113.1:port', '203.0.113.1:', '[203.0.113.1', '2001:db8::1::2', '[]:80'],
      ...['203.0.113.1,junk', '"203.0.113.1"'],
    ]) {
      expect(await left(app, junk)).toBe(--expected);
    }
    expect(await left(app)).toBe(--expected);
  });
});
