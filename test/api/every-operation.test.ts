import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { errors } from '../../src/contract/errors.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { isRead } from '../../src/contract/operation.ts';
import { allOperations, allowedMethods } from '../../src/contract/operations.ts';
import type { webhookOperations } from '../../src/contract/webhooks.ts';
import { generateKey } from '../../src/domain/key.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { faulty } from '../support/pets.ts';
import { type Sample, sampleOf, send, sendNew } from '../support/requests.ts';

/** Operations that make a webhook act (webhook-authority.test.ts). */
const actingLater: ReadonlySet<string> = new Set<keyof typeof webhookOperations>([
  'createWebhook',
  'updateWebhook',
  'rotateWebhookSecret',
  'testWebhook',
  'redeliverEvents',
  'redeliver',
]);

/** Tables that admission reads to identify a caller. */
const callerTables = ['accounts', 'keys', 'versions'];

const app = await startTestApp();
const invalid = await invalidCredentials(app);
const withoutKeys = await brokenApp((table) => table === 'keys');
const withCallersAlone = await brokenApp((table) => !callerTables.includes(table));
afterAll(async () => {
  for (const started of [app, withoutKeys, withCallersAlone]) await started[Symbol.asyncDispose]();
});

/** One invalid credential of each kind. */
async function invalidCredentials(of: TestApp): Promise<Record<string, string>> {
  const revoked = await of.tenant('free');
  const expired = await of.app.admin.keys.create(revoked.account.id, 'expired', 1_000);
  await of.operator.keys.revoke(revoked.keyId);
  of.clock.advance(1);
  const typo = of.key.slice(0, -1) + (of.key.endsWith('0') ? '1' : '0');
  return {
    unknown: `Bearer ${generateKey(randomBytes)}`,
    revoked: `Bearer ${revoked.key}`,
    expired: `Bearer ${expired.key}`,
    'with a typo': `Bearer ${typo}`,
    malformed: 'Bearer x',
    'very long': `Bearer ${'x'.repeat(8_000)}`,
    'followed by other text': `Bearer ${of.key} x`,
    'sent twice in one header': `Bearer ${of.key}, Bearer ${of.key}`,
    'without its scheme': of.key,
    'with the scheme Basic': `Basic ${Buffer.from(`key:${of.key}`).toString('base64')}`,
    'only a scheme': 'Bearer',
  };
}

for (const operation of allOperations) {
  describe(operation.operationId, () => {
    test('returns 401 missing_api_key without a credential, and no error in WWW-Authenticate', async () => {
      const sample = await sampleOf(app, operation);
      for (const headers of [{}, { Authorization: '' }]) {
        const answer = await send(app, sample, { key: null, headers });
        expect(answer.error).toMatchObject({ status: 401, code: 'missing_api_key' });
        expect(answer.header('WWW-Authenticate')).toBe('Bearer realm="animal-store"');
        expect(answer.headers.has('RateLimit')).toBe(false);
      }
    });

    test('returns the same 401 invalid_api_key for every invalid credential', async () => {
      const sample = await sampleOf(app, operation);
      for (const [kind, Authorization] of Object.entries(invalid)) {
        const answer = await send(app, sample, { key: null, headers: { Authorization } });
        expect([kind, answer.text]).toEqual([
          kind,
          JSON.stringify({ code: 'invalid_api_key', message: errors.invalid_api_key.message, status: 401 }),
        ]);
        expect(answer.header('WWW-Authenticate')).toBe('Bearer realm="animal-store", error="invalid_token"');
      }
    });

    test('accepts the authentication scheme in upper or lower case', async () => {
      for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
        const headers = { Authorization: `${scheme} ${app.key}` };
        expect((await sendNew(app, operation, { key: null, headers })).status).toBeLessThan(300);
      }
    });

    test('returns 400 invalid_parameter with the names of unknown parameters', async () => {
      const sample = await sampleOf(app, operation);
      const answer = await send(app, { ...sample, target: `${sample.target}?stauts=sold&verbose` });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:stauts', 'query:verbose']);
    });

    test('returns the rate limits per minute and per day on success and on failure', async () => {
      const sample = await sampleOf(app, operation);
      const refused = await send(app, { ...sample, target: `${sample.target}?x=1` });
      for (const answer of [refused, await send(app, sample)]) {
        expect(answer.header('RateLimit-Policy')).toBe('"minute";q=1000000;w=60, "day";q=1000000;w=86400');
        expect(answer.header('RateLimit')).toMatch(/^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$/);
      }
    });

    test("returns 500 internal_error with the address's limits if callers cannot be looked up", async () => {
      const { app: broken, of } = withoutKeys;
      const { sample, key } = of(operation);
      const answer = await send(broken, sample, { key });
      expect(answer.error).toMatchObject({ status: 500, code: 'internal_error' });
      expect(answer.number('X-RateLimit-Limit')).toBe(600);
    });
  });
}

/** A request to an operation, with a key that the service has never seen. */
interface Prepared {
  readonly sample: Sample;
  readonly key: string;
}

interface Broken extends AsyncDisposable {
  readonly app: TestApp;
  of(operation: Operation): Prepared;
}

/** Starts a service, prepares a request for every operation, and then drops the matching tables. */
async function brokenApp(isBroken: (table: string) => boolean): Promise<Broken> {
  const made = await startTestApp();
  const prepared = new Map<string, Prepared>();
  for (const operation of allOperations) {
    const sample = await sampleOf(made, operation);
    const { key } = await made.tenant('enterprise', { perMinute: 10, perDay: 10 });
    prepared.set(operation.operationId, { sample, key });
  }
  breakStore(made, isBroken);
  return {
    app: made,
    of: ({ operationId }) => prepared.get(operationId) ?? expect.unreachable(),
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

/** Drops tables while the service runs. */
function breakStore(of: TestApp, isBroken: (table: string) => boolean): void {
  using database = new Database(of.config.databaseUrl.replace('sqlite:', ''));
  // Waits while the service writes usage records.
  database.run('PRAGMA busy_timeout = 10000');
  const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  for (const { name } of tables.all()) {
    if (isBroken(name) && !name.startsWith('sqlite_')) database.run(`DROP TABLE ${name}`);
  }
}

describe.each(allOperations.filter(({ free }) => !free))('$operationId', (operation) => {
  test('returns 429 with Retry-After when the limit is reached, before any other check', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 10 });
    expect((await sendNew(app, operation, { key })).status).toBeLessThan(300);
    const sample = await sampleOf(app, operation, key);
    const answer = await send(app, sample, { key });
    expect(answer.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(answer.number('Retry-After')).toBe(60);
    expect(answer.number('X-RateLimit-Remaining')).toBe(0);
    app.clock.advance(60);
    expect((await send(app, sample, { key })).status).toBeLessThan(300);
  });

  test('counts a request that fails with 500 internal_error, and does not reveal the cause', async () => {
    const { app: broken, of } = withCallersAlone;
    const { sample, key } = of(operation);
    const answer = await send(broken, sample, { key });
    expect(answer.text).toBe(
      JSON.stringify({ code: 'internal_error', message: errors.internal_error.message, status: 500 }),
    );
    expect(answer.number('X-RateLimit-Remaining')).toBe(9);
    expect((await broken.call('GET', '/elsewhere', { key })).number('X-RateLimit-Remaining')).toBe(8);
  });
});

describe.each(allOperations.filter(({ free }) => free))('$operationId', (operation) => {
  test('does not count against the limit, and works when the quota is exhausted', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 10 });
    expect((await sendNew(app, operation, { key })).number('X-RateLimit-Remaining')).toBe(1);
    expect((await app.call('GET', '/pets', { key })).number('X-RateLimit-Remaining')).toBe(0);
    expect((await app.call('GET', '/pets', { key })).status).toBe(429);
    expect((await sendNew(app, operation, { key })).status).toBeLessThan(300);
  });
});

describe.each(allOperations.filter(({ scope }) => scope))('$operationId', (operation) => {
  const { scope } = operation;

  test("requires only the operation's scope and, if it makes a webhook send events, the scopes of the event types", async () => {
    const { account } = await app.tenant('enterprise', { perMinute: 10, perDay: 10 });
    const ofTypes: Scope[] = actingLater.has(operation.operationId) ? ['events:read', 'pets:read'] : [];
    const only = scope && [scope, ...ofTypes];
    const { key } = await app.app.admin.keys.create(account.id, 'only these', undefined, only);
    expect((await sendNew(app, operation, { key })).status).toBeLessThan(300);
  });
});

describe.each(allOperations.filter(isRead))('$operationId', (operation) => {
  test('returns the same headers for HEAD as for GET, without a body, whatever the status', async () => {
    const { target } = await sampleOf(app, operation);
    const calls = [
      { target, key: app.key },
      { target: `${target}?x=1`, key: app.key },
      { target, key: null },
      { target: '/elsewhere', key: app.key },
    ];
    for (const { target: at, key } of calls) {
      const headers = { 'X-Request-Id': 'same' };
      const get = await app.call('GET', at, { key, headers });
      const head = await app.call('HEAD', at, { key, headers });
      expect(head.status).toBe(get.status);
      expect(head.text).toBe('');
      expect(Date.parse(head.header('Date'))).not.toBeNaN();
      expect(stable(head.headers)).toEqual(stable(get.headers));
    }
  });
});

/** Headers that do not depend on the time, the connection or the account's earlier requests. */
function stable(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name]) => !/^(connection|date|ratelimit|x-ratelimit-remaining)$/.test(name)),
  );
}

describe.each([...Map.groupBy(allOperations, ({ path }) => path)])('%s', (_path, those) => {
  test('returns 405 method_not_allowed with an Allow header for every other method', async () => {
    const { target } = await sampleOf(app, those[0] ?? expect.unreachable());
    const allowed = those.flatMap(allowedMethods).sort();
    const all = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];
    for (const method of all.filter((one) => !allowed.includes(one))) {
      const answer = await app.call(method, target);
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.header('Allow')).toBe(allowed.join(', '));
    }
  });

  test('returns 404 route_not_found if its path has a trailing slash or additional segments', async () => {
    const { target } = await sampleOf(app, those[0] ?? expect.unreachable());
    for (const beyond of ['/', '/x/y/z']) {
      expect((await app.call('GET', target + beyond)).error.code).toBe('route_not_found');
    }
  });
});

describe('X-Request-Id', () => {
  test.each(['x', 'a'.repeat(64), 'A-Z.a_z-0.9'])(
    "is the client's request id if it is valid: %s",
    async (id) => {
      const headers = { 'X-Request-Id': id };
      for (const key of [app.key, null]) {
        expect((await app.call('GET', '/pets', { key, headers })).header('X-Request-Id')).toBe(id);
      }
    },
  );

  test.each(['', 'a'.repeat(65), 'a b', 'a,b', 'a/b', '<b>', '"x"', 'é'])(
    'is generated if the client sent an invalid request id: "%s"',
    async (id) => {
      const answer = await app.call('GET', '/pets', { headers: { 'X-Request-Id': id } });
      expect(answer.header('X-Request-Id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(answer.header('X-Request-Id')).not.toBe(id);
    },
  );

  test('never contains an API key, because ids are logged', async () => {
    for (const id of [app.key, `till-1.${app.key}`, `${app.key}-7`]) {
      const answer = await app.call('GET', '/pets', { headers: { 'X-Request-Id': id } });
      expect(answer.header('X-Request-Id')).not.toContain('ask_');
    }
    const harmless = { 'X-Request-Id': `task_${'x'.repeat(37)}` };
    expect((await app.call('GET', '/pets', { headers: harmless })).header('X-Request-Id')).toStartWith(
      'task_',
    );
  });

  test('is unique if it is generated', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.call('GET', '/pets')));
    expect(new Set(answers.map((answer) => answer.header('X-Request-Id'))).size).toBe(50);
  });
});
