/**
 * Sends the same generated requests to the service on two stores, under clocks that move alike, and compares every
 * answer: status, headers and body.
 */
import fc from 'fast-check';
import { startTestApp, type Tenant, type TestApp } from '../support/app.ts';
import type { TestServers } from '../support/servers.ts';
import { patient } from './cluster-place.ts';

type Command =
  | { readonly kind: 'request'; readonly method: string; readonly target: string; readonly body?: string }
  | { readonly kind: 'next' | 'stranger' | 'revoke' | 'rotate' | 'lift' }
  | { readonly kind: 'plan'; readonly perMinute: number }
  | { readonly kind: 'advance'; readonly seconds: number };

const status = fc.constantFrom('available', 'pending', 'sold', 'lost', '');
const target = fc.oneof(
  { weight: 3, arbitrary: fc.nat(12).map((limit) => `/pets?limit=${limit}`) },
  {
    weight: 3,
    arbitrary: fc.tuple(status, fc.nat(9)).map(([one, limit]) => `/pets?status=${one}&limit=${limit}`),
  },
  { weight: 2, arbitrary: fc.nat(40).map((id) => `/pets/${id}`) },
  fc.constantFrom(
    '/pets',
    '/pets/9223372036854775807',
    '/pets/x',
    '/pets?limit=1&limit=2',
    '/nowhere',
    '/pets?cursor=x',
  ),
);
const name = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', '\u2028', "'; --", 'NULL'),
);
const body = fc
  .record(
    {
      name,
      categoryId: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), fc.bigInt({ min: 0n, max: 9n })),
      status,
    },
    { requiredKeys: ['name'] },
  )
  .map(({ categoryId, ...rest }) => withInteger(JSON.stringify(rest), categoryId));

/** The object with a category, digit for digit. */
function withInteger(json: string, categoryId: bigint | undefined): string {
  return categoryId === undefined ? json : json.replace(/}$/, `,"categoryId":${categoryId}}`);
}

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('request' as const), method: fc.constant('GET'), target }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      method: fc.constant('POST'),
      target: fc.constant('/pets'),
      body,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      method: fc.constantFrom('HEAD', 'DELETE'),
      target,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('next' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('stranger' as const, 'revoke', 'rotate', 'lift') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('plan' as const), perMinute: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 70 }) }),
  },
);

/** Headers that are the request's own, not the store's. */
const ownHeaders = new Set(['x-request-id', 'date']);

/** One of the two services, with what a sequence has seen of it. */
class Side {
  readonly #app: TestApp;
  readonly #tenant: Tenant;
  #key: string;
  #next: string | undefined;

  constructor(app: TestApp, tenant: Tenant) {
    this.#app = app;
    this.#tenant = tenant;
    this.#key = tenant.key;
  }

  /** Does what the command says; returns all there is to compare. */
  async run(command: Command): Promise<string> {
    const { keys, bans, accounts } = this.#app.operator;
    const { keyId, account } = this.#tenant;
    switch (command.kind) {
      case 'request':
        return this.#call(command.method, command.target, this.#key, command.body);
      case 'next':
        return this.#next === undefined ? '' : this.#call('GET', this.#next, this.#key);
      case 'stranger':
        return this.#call('GET', '/pets', 'stranger');
      case 'revoke':
        return said(keys.revoke(keyId));
      case 'rotate':
        return said(keys.rotate(keyId, 0).then((issued) => this.#takeKey(issued)));
      case 'lift':
        return said(bans.lift(keyId));
      case 'plan':
        return said(accounts.setPlan(account.id, 'enterprise', { perMinute: command.perMinute, perDay: 50 }));
      case 'advance':
        this.#app.clock.advance(command.seconds);
        return '';
    }
  }

  #takeKey({ id, key }: { id: number; key: string }): number {
    this.#key = key;
    return id;
  }

  async #call(method: string, path: string, key: string, body?: string): Promise<string> {
    const answer = await this.#app.call(method, path, body === undefined ? { key } : { key, body });
    this.#next = /<\/v1([^>]+)>; rel="next"/.exec(answer.header('link'))?.[1] ?? this.#next;
    const headers = [...answer.headers].filter(([header]) => !ownHeaders.has(header));
    return JSON.stringify([answer.status, headers.sort(), answer.text]);
  }
}

/** What became of an operator's command, errors too. */
function said(done: Promise<unknown>): Promise<string> {
  return done.then(
    (value) => JSON.stringify(value) ?? 'done',
    (error: Error) => error.message,
  );
}

/** Throws at the first answer that differs; returns how many were compared. */
export async function compareAnswers(servers: TestServers, sequences: number, seed: number): Promise<number> {
  await using embedded = await startTestApp();
  await using schema = await servers.makeSchema();
  await using cluster = await startTestApp({
    DATABASE_URL: schema.url,
    REDIS_URL: servers.redisUrl,
    REDIS_PREFIX: servers.makePrefix(),
    REDIS_TIMEOUT_MS: String(patient.redisTimeoutMs),
    POSTGRES_TIMEOUT_MS: String(patient.statementTimeoutMs),
  });
  let compared = 0;
  const property = fc.asyncProperty(fc.array(command, { maxLength: 30, size: 'max' }), async (commands) => {
    const [one, other] = await Promise.all([embedded, cluster].map(sideOf));
    for (const next of commands) {
      const [said, alsoSaid] = await Promise.all([one?.run(next), other?.run(next)]);
      if (said !== alsoSaid)
        throw new Error(`${JSON.stringify(next)}: SQLite ${said}, PostgreSQL ${alsoSaid}`);
      compared++;
    }
  });
  // Both stores go on from sequence to sequence, so that a shorter one would not be the same one again.
  await fc.assert(property, { numRuns: sequences, seed, endOnFailure: true });
  return compared;
}

async function sideOf(app: TestApp): Promise<Side> {
  return new Side(app, await app.tenant('enterprise', { perMinute: 12, perDay: 50 }));
}
