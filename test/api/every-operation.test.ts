import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import document from '../../contract/openapi.json' with { type: 'json' };
import { errors } from '../../src/contract/errors.ts';
import { commonErrors, type Operation, operations } from '../../src/contract/operations.ts';
import { makeKey } from '../../src/domain/key.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';
import { addPets, faulty } from '../support/pets.ts';
import { type Sample, samples } from '../support/requests.ts';

interface DeclaredResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
}

interface DeclaredOperation {
  readonly responses: Readonly<Record<string, DeclaredResponse>>;
}

const app = await startTestApp();
await addPets(app, 1);
const invalid = await invalidCredentials(app);
afterAll(() => app[Symbol.asyncDispose]());

function send(of: TestApp, { method, target, options }: Sample, authorization?: string): Promise<Answer> {
  if (authorization === undefined) return of.call(method, target, options);
  return of.call(method, target, { ...options, key: null, headers: { Authorization: authorization } });
}

/** One credential of every kind that is not valid. */
async function invalidCredentials(of: TestApp): Promise<Record<string, string>> {
  const revoked = await of.tenant('free');
  const expired = await of.app.admin.keys.create(revoked.account.id, 'expired', 1_000);
  await of.operator.keys.revoke(revoked.keyId);
  of.clock.advance(1);
  const typo = of.key.slice(0, -1) + (of.key.endsWith('0') ? '1' : '0');
  return {
    unknown: `Bearer ${makeKey(randomBytes)}`,
    revoked: `Bearer ${revoked.key}`,
    expired: `Bearer ${expired.key}`,
    'with a typo': `Bearer ${typo}`,
    'of another form': 'Bearer x',
    'very long': `Bearer ${'x'.repeat(8_000)}`,
    'with something after it': `Bearer ${of.key} x`,
    'given twice in one header': `Bearer ${of.key}, Bearer ${of.key}`,
    'without its scheme': of.key,
    'of the scheme Basic': `Basic ${Buffer.from(`key:${of.key}`).toString('base64')}`,
    'a scheme alone': 'Bearer',
  };
}

for (const sample of samples) {
  describe(sample.operationId, () => {
    test('401 missing_api_key without a credential, and no error in WWW-Authenticate', async () => {
      const { method, target, options } = sample;
      for (const headers of [{}, { Authorization: '' }]) {
        const answer = await app.call(method, target, { ...options, key: null, headers });
        expect(answer.error).toMatchObject({ status: 401, code: 'missing_api_key' });
        expect(answer.header('WWW-Authenticate')).toBe('Bearer realm="animal-store"');
        expect(answer.headers.has('RateLimit')).toBe(false);
      }
    });

    test.each(Object.keys(invalid))(
      '401 invalid_api_key for a key %s, the same bytes as for any other',
      async (kind) => {
        const answer = await send(app, sample, invalid[kind]);
        expect(answer.text).toBe(
          JSON.stringify({ code: 'invalid_api_key', message: errors.invalid_api_key.message, status: 401 }),
        );
        expect(answer.header('WWW-Authenticate')).toBe('Bearer realm="animal-store", error="invalid_token"');
      },
    );

    test('takes the scheme in any case', async () => {
      for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
        expect((await send(app, sample, `${scheme} ${app.key}`)).status).toBeLessThan(300);
      }
    });

    test('429 with Retry-After when the limit is reached, before anything else is looked at', async () => {
      const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 10 });
      expect((await send(app, sample, `Bearer ${key}`)).status).toBeLessThan(300);
      const answer = await send(app, sample, `Bearer ${key}`);
      expect(answer.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
      expect(answer.number('Retry-After')).toBe(60);
      expect(answer.number('X-RateLimit-Remaining')).toBe(0);
      app.clock.advance(60);
      expect((await send(app, sample, `Bearer ${key}`)).status).toBeLessThan(300);
    });

    test('400 invalid_parameter for a parameter it does not know, naming it', async () => {
      const { method, target, options } = sample;
      const answer = await app.call(method, `${target}?stauts=sold&verbose`, options);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:stauts', 'query:verbose']);
    });

    test('shows both windows on success and on failure', async () => {
      const { method, target, options } = sample;
      for (const answer of [await send(app, sample), await app.call(method, `${target}?x=1`, options)]) {
        expect(answer.header('RateLimit-Policy')).toBe('"minute";q=1000000;w=60, "day";q=1000000;w=86400');
        expect(answer.header('RateLimit')).toMatch(/^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$/);
      }
    });

    test('500 internal_error also when callers cannot be looked up, with what their address has left', async () => {
      await using broken = await startTestApp();
      await breakStore(broken, 'keys');
      const answer = await send(broken, sample);
      expect(answer.error).toMatchObject({ status: 500, code: 'internal_error' });
      expect(answer.number('X-RateLimit-Limit')).toBe(600);
    });

    test('500 internal_error says nothing of the inside, and costs a request', async () => {
      await using broken = await startTestApp();
      await breakStore(broken, 'pets');
      const answer = await send(broken, sample);
      expect(answer.text).toBe(
        JSON.stringify({ code: 'internal_error', message: errors.internal_error.message, status: 500 }),
      );
      expect(answer.number('X-RateLimit-Remaining')).toBe(999_999);
      expect((await broken.call('GET', '/elsewhere')).number('X-RateLimit-Remaining')).toBe(999_998);
    });
  });
}

/** Takes a table away under the running service. */
async function breakStore(of: TestApp, table: 'pets' | 'keys'): Promise<void> {
  using database = new Database(of.config.databaseUrl.replace('sqlite:', ''));
  database.run(`DROP TABLE ${table}`);
}

for (const sample of samples.filter(({ method }) => method === 'GET')) {
  test(`${sample.operationId}: HEAD answers GET's headers without its body, whatever the status`, async () => {
    const { target } = sample;
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
}

/** Headers without those that say how much is left or when it is. */
function stable(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name]) => !/^(date|ratelimit|x-ratelimit-remaining)$/.test(name)),
  );
}

describe('what caches and browsers may do with a response', () => {
  const declared = samples.flatMap(({ method, target }) => {
    const path = target.replace(/1$/, '{petId}') as keyof typeof document.paths;
    const { responses } =
      (document.paths[path] as Record<string, DeclaredOperation>)[method.toLowerCase()] ?? {};
    return Object.entries(responses ?? {}).map(
      ([status, response]) => [method, target, status, response] as const,
    );
  });

  test('is looked at for every response of every operation', () => {
    for (const { errors: own } of Object.values<Operation>(operations)) {
      for (const code of [...own, ...commonErrors]) {
        expect(declared.map(([, , status]) => Number(status))).toContain(errors[code].status);
      }
    }
  });

  test.each(declared)(
    '%s %s %s: the contract says that it is private, and an error never stored',
    (...row) => {
      const [, , status, response] = row;
      const name = response.$ref?.split('/').at(-1) as keyof typeof document.components.responses | undefined;
      const { headers = {} } =
        name === undefined ? response : (document.components.responses[name] as DeclaredResponse);
      const component = Number(status) < 400 ? 'CacheControl' : 'NoStore';
      expect(headers['Cache-Control']?.$ref).toBe(`#/components/headers/${component}`);
      expect(headers['X-Content-Type-Options']?.$ref).toBe('#/components/headers/X-Content-Type-Options');
    },
  );

  // That real responses are as declared is checked of each by `call`; this is what is declared.
  test('is said in words that caches know', () => {
    const { CacheControl, NoStore, ...others } = document.components.headers;
    expect(CacheControl).toMatchObject({ required: true, schema: { const: 'private, no-cache' } });
    expect(NoStore).toMatchObject({ required: true, schema: { const: 'no-store' } });
    expect(others['X-Content-Type-Options']).toMatchObject({ required: true, schema: { const: 'nosniff' } });
  });
});

describe('X-Request-Id', () => {
  test.each(['x', 'a'.repeat(64), 'A-Z.a_z-0.9'])("is the client's own: %s", async (id) => {
    const headers = { 'X-Request-Id': id };
    for (const key of [app.key, null]) {
      expect((await app.call('GET', '/pets', { key, headers })).header('X-Request-Id')).toBe(id);
    }
  });

  test.each(['', 'a'.repeat(65), 'a b', 'a,b', 'a/b', '<b>', '"x"', 'é'])(
    'is one the service made when the client sent another form: "%s"',
    async (id) => {
      const answer = await app.call('GET', '/pets', { headers: { 'X-Request-Id': id } });
      expect(answer.header('X-Request-Id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(answer.header('X-Request-Id')).not.toBe(id);
    },
  );

  test('is not one with an API key in it, for ids are logged', async () => {
    for (const id of [app.key, `till-1.${app.key}`, `${app.key}-7`]) {
      const answer = await app.call('GET', '/pets', { headers: { 'X-Request-Id': id } });
      expect(answer.header('X-Request-Id')).not.toContain('ask_');
    }
    const harmless = { 'X-Request-Id': `task_${'x'.repeat(37)}` };
    expect((await app.call('GET', '/pets', { headers: harmless })).header('X-Request-Id')).toStartWith(
      'task_',
    );
  });

  test('is never the same twice', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.call('GET', '/pets')));
    expect(new Set(answers.map((answer) => answer.header('X-Request-Id'))).size).toBe(50);
  });
});
