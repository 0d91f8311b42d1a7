/** Failed authentications, counted against the caller's address (contract, section 6). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';

/** A request with an invalid key, through whatever forwarding is claimed. */
async function fail(app: TestApp, forwardedFor?: string): Promise<Answer> {
  const headers: Record<string, string> =
    forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor };
  return app.call('GET', '/pets', { key: 'wrong', headers });
}

/** What the address behind a request has left after one more failure. */
async function left(app: TestApp, forwardedFor?: string): Promise<number> {
  return (await fail(app, forwardedFor)).number('X-RateLimit-Remaining');
}

describe('an address', () => {
  test('may fail 600 times a minute; then invalid keys get 429 and valid ones go on', async () => {
    await using app = await startTestApp();
    const reset = app.clock.seconds + 60;
    for (let failure = 1; failure <= 600; failure++) {
      const answer = failure % 2 === 0 ? await fail(app) : await app.call('GET', '/pets', { key: null });
      expect(answer.status).toBe(401);
      expect(answer.number('X-RateLimit-Limit')).toBe(600);
      expect(answer.number('X-RateLimit-Remaining')).toBe(600 - failure);
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
    expect(await left(app)).toBe(599);
  });

  test('may fail as often as configured', async () => {
    await using app = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '2' });
    expect([(await fail(app)).status, (await fail(app)).status, (await fail(app)).status]).toEqual([
      401, 401, 429,
    ]);
  });

  test('loses nothing by requests that have a valid key', async () => {
    await using app = await startTestApp();
    expect(await left(app)).toBe(599);
    for (const path of ['/pets', '/elsewhere', '/pets?limit=0']) await app.call('GET', path);
    expect(await left(app)).toBe(598);
  });

  test('gets no failure back and no Reset in the past when the clock steps back', async () => {
    await using app = await startTestApp();
    expect(await left(app)).toBe(599);
    app.clock.step(-3_600);
    const answer = await fail(app);
    expect(answer.number('X-RateLimit-Remaining')).toBe(598);
    expect(answer.number('X-RateLimit-Reset')).toBeGreaterThan(app.clock.seconds);
  });
});

describe('X-Forwarded-For', () => {
  let behindProxy: TestApp;
  beforeAll(async () => {
    behindProxy = await startTestApp({ TRUSTED_PROXIES: '127.0.0.1' });
  });
  afterAll(() => behindProxy[Symbol.asyncDispose]());

  /** A service behind a proxy, in a minute in which no address has failed yet. */
  function minuteLater(): TestApp {
    behindProxy.clock.advance(60);
    return behindProxy;
  }

  test('is believed from nobody unless proxies are configured', async () => {
    for (const settings of [{}, { TRUSTED_PROXIES: '10.0.0.0/8, ::1' }]) {
      await using app = await startTestApp(settings);
      expect(await left(app, '203.0.113.1')).toBe(599);
      expect(await left(app, '203.0.113.2')).toBe(598);
      expect(await left(app)).toBe(597);
    }
  });

  test('from a trusted proxy tells the address: each IPv4 its own', async () => {
    await using app = await startTestApp({ TRUSTED_PROXIES: '127.0.0.0/8' });
    expect(await left(app, '203.0.113.1')).toBe(599);
    expect(await left(app, '203.0.113.2')).toBe(599);
    expect(await left(app, ' 203.0.113.1 ')).toBe(598);
    expect(await left(app, '::ffff:203.0.113.1')).toBe(597);
    expect(await left(app)).toBe(599);
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002:0:0:0:9'],
    ['2001:db8::1', '2001:db8:0:0:1::'],
    ['::1', '::2'],
    ['fe80::1', 'fe80::2'],
    ['2001:db8:1:2::', '2001:db8:1:2:3:4:192.0.2.1'],
  ])('tells one IPv6 subscriber by the /64: %s and %s are one', async (one, same) => {
    const app = minuteLater();
    expect([await left(app, one), await left(app, same)]).toEqual([599, 598]);
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['::1', '0:0:0:1::1'],
    ['1:2:3:4::', '1:2:3::4'],
  ])('tells two IPv6 subscribers apart: %s and %s', async (one, other) => {
    const app = minuteLater();
    expect([await left(app, one), await left(app, other)]).toEqual([599, 599]);
  });

  test.each([
    ['203.0.113.1:4711', '203.0.113.1'],
    ['203.0.113.1:1, 203.0.113.1:2', '203.0.113.1'],
    ['[2001:db8:1:2::1]:443', '2001:db8:1:2::2'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::2'],
    ['::ffff:cb00:7101', '203.0.113.1'],
    ['::FFFF:CB00:7101', '::ffff:203.0.113.1'],
    ['0:0:0:0:0:ffff:cb00:7101', '203.0.113.1'],
    ['[::ffff:cb00:7101]:80', '203.0.113.1'],
    ['2001:db8:1:2::1%eth0', '2001:db8:1:2::1'],
  ])('is understood with a port and in any spelling: %s is %s', async (one, same) => {
    const app = minuteLater();
    expect([await left(app, one), await left(app, same)]).toEqual([599, 598]);
    expect(await left(app)).toBe(599);
  });

  test.each(['::ffff:127.0.0.0/104', '::ffff:7f00:1', '0:0:0:0:0:FFFF:127.0.0.1/128'])(
    'is believed from a proxy that is configured as %s',
    async (proxy) => {
      await using app = await startTestApp({ TRUSTED_PROXIES: proxy });
      expect([await left(app, '203.0.113.1'), await left(app)]).toEqual([599, 599]);
    },
  );

  test('goes on through a proxy that names itself with a port', async () => {
    await using app = await startTestApp({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' });
    expect(await left(app, '203.0.113.1:4711, 10.1.2.3:80')).toBe(599);
    expect(await left(app, '203.0.113.1')).toBe(598);
  });

  test('is read from its right end, only through trusted proxies, so that nobody can invent an address', async () => {
    await using app = await startTestApp({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, 2001:db8:aaaa::/48' });
    expect(await left(app, '203.0.113.1')).toBe(599);
    expect(await left(app, '203.0.113.1, 10.1.2.3')).toBe(598);
    expect(await left(app, '203.0.113.1, 2001:db8:aaaa::9, 10.1.2.3')).toBe(597);
    expect(await left(app, '198.51.100.7, 203.0.113.1')).toBe(596);
    expect(await left(app, '198.51.100.7, 203.0.113.1, 10.1.2.3')).toBe(595);
    expect(await left(app, 'junk, 203.0.113.1')).toBe(594);
    expect(await left(app, '198.51.100.7')).toBe(599);
  });

  test('that is no address leaves the request with the last one that is', async () => {
    const app = minuteLater();
    let expected = 600;
    for (const junk of [
      'junk',
      '',
      ',',
      'unknown',
      '1.2.3',
      '1.2.3.4.5',
      '010.0.0.1',
      '0x7f000001',
      '203.0.113.256',
      '203.0.113.1:port',
      '203.0.113.1:',
      '[203.0.113.1',
      '2001:db8::1::2',
      '[]:80',
      '203.0.113.1,junk',
      '"203.0.113.1"',
    ]) {
      expect(await left(app, junk)).toBe(--expected);
    }
    expect(await left(app)).toBe(--expected);
  });
});
