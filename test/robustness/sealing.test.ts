/** Webhook secrets while SECRETS_KEY changes, on both kinds of store. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Overview } from '../../src/contract/admin/system.ts';
import type { AccountWebhook } from '../../src/contract/admin/webhooks.ts';
import type { Send } from '../../src/webhooks/attempt.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { temporaryFolder } from '../support/folder.ts';
import { keptLog } from '../support/log.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { addWebhook } from '../support/webhooks.ts';
import { type Receiver, response, startReceiver } from '../webhooks/receiver.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

type Settings = Readonly<Record<string, string>>;

interface Place extends AsyncDisposable {
  readonly settings: Settings;
}

async function onSqlite(): Promise<Place> {
  const folder = await temporaryFolder();
  const settings = { DATABASE_URL: `sqlite:${join(folder.path, 'store.db')}` };
  return { settings, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function onPostgres(): Promise<Place> {
  if (servers === undefined) throw new Error('There are no servers.');
  const schema = await servers.makeSchema();
  const redis = { REDIS_URL: servers.redisUrl, REDIS_PREFIX: servers.makePrefix(), ...patientSettings };
  const settings = { ...redis, DATABASE_URL: schema.url };
  return { settings, [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose]() };
}

const places: [string, () => Promise<Place>][] = [
  ['SQLite', onSqlite],
  ...(servers === undefined ? [] : [['PostgreSQL', onPostgres] as [string, () => Promise<Place>]]),
];

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const [before, after] = [keyOf(1), keyOf(2)];

interface Shown {
  readonly id: bigint;
  readonly secret: string;
}

interface Started extends AsyncDisposable {
  readonly app: TestApp;
  /** Number of attempts that have failed because the secret was unavailable. */
  readonly unsigned: () => number;
  /** All log messages about secrets since the start. */
  messages(): string[];
}

/** Starts the service with this SECRETS_KEY, and waits for a log message about secrets that contains `says`. */
async function startWith(place: Place, keys: string, says: string): Promise<Started> {
  const { log, lines } = keptLog();
  const settings = { ...place.settings, SECRETS_KEY: keys, WEBHOOKS: 'on' };
  let unsigned = 0;
  const aroundSend =
    (send: Send): Send =>
    async (...message) => {
      const outcome = await send(...message);
      if ('error' in outcome && outcome.error === 'secret') unsigned++;
      return outcome;
    };
  const app = await startTestApp(settings, log, undefined, { aroundSend });
  const messages = () =>
    lines.map(({ msg }) => String(msg)).filter((message) => /SECRETS_KEY|decrypted/.test(message));
  await until(() => messages().some((message) => message.includes(says)));
  return { app, messages, unsigned: () => unsigned, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

const startReceiving = () => startReceiver((socket) => socket.write(response('200 OK')));

async function subscribe({ call }: Pick<Buyer, 'call'>, { port }: Receiver, headers = {}) {
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/`, types: ['pet.created'] });
  return call('POST', '/webhooks', { body, headers });
}

const signaturesIn = (request = '') =>
  /^webhook-signature: (.*)\r$/im.exec(request)?.[1]?.split(' ').length ?? 0;

async function concernsOf(app: TestApp): Promise<string[]> {
  const { token } = await addOperator(app, 'viewer');
  const { body } = await callAdmin(app, 'GET', '/overview', { token });
  return (body as Overview).concerns.map(({ what }) => what);
}

async function onHoldReasonOf(app: TestApp, id: bigint): Promise<string | undefined> {
  const { token } = await addOperator(app, 'viewer');
  const { body } = await callAdmin(app, 'GET', `/webhooks/${id}`, { token });
  return (body as AccountWebhook).onHoldReason;
}

/** Whether exactly this number of deliveries is pending, none of them leased. */
const areWaiting = async (app: TestApp, count: number) => {
  const all = await pending(app);
  return all.length === count && all.every(({ leasedUntil }) => leasedUntil === undefined);
};

const pending = async ({ operator }: TestApp) =>
  await operator.storage.deliveries.list(undefined, 100, { status: 'pending' });

describe.each(places)('on %s', (_name, open) => {
  test('webhook secrets are re-encrypted with a new key, so that the old key is no longer needed', async () => {
    await using place = await open();
    await using receiver = await startReceiving();
    let key = '';
    let id = 0n;
    const secrets = async ({ operator }: TestApp) => {
      const webhook = await operator.storage.webhooks.find(id);
      return [webhook?.secret, webhook?.formerSecret];
    };
    {
      // Starts without SECRETS_KEY.
      await using first = await startTestApp({ ...place.settings, WEBHOOKS: 'on' });
      const owner = await buyerOf(first);
      key = owner.key;
      id = ((await subscribe(owner, receiver)).json as Shown).id;
      await owner.call('POST', `/webhooks/${id}/rotate-secret`);
      expect((await secrets(first)).every((secret) => secret?.startsWith('whsec_'))).toBe(true);
    }
    let old: (string | undefined)[];
    {
      await using second = await startWith(place, before, 'encrypted webhook secrets');
      old = await secrets(second.app);
    }
    await using third = await startWith(place, `${after},${before}`, 'no webhook needs the second key');
    const { app, messages } = third;
    expect(messages()).toEqual([
      'encrypted webhook secrets with the first key of SECRETS_KEY',
      expect.stringContaining('no webhook needs the second key'),
    ]);
    const current = await secrets(app);
    for (const [index, secret] of current.entries()) {
      expect(secret).toStartWith('enc1:');
      expect(secret).not.toBe(old[index] as string);
    }
    await third[Symbol.asyncDispose]();
    await using fourth = await startTestApp({ ...place.settings, SECRETS_KEY: after });
    const tested = await clientOf(fourth, key).call('POST', `/webhooks/${id}/test`);
    expect(tested.json).toMatchObject({ status: 200n });
    expect(signaturesIn(receiver.requests.at(-1))).toBe(2);
    expect(await concernsOf(fourth)).toEqual([]);
  });

  test('a missing key is logged and reported as a problem, and deliveries wait until it is restored', async () => {
    await using place = await open();
    await using receiver = await startReceiving();
    const headers = { 'Idempotency-Key': 'once' };
    let [key, id, events] = ['', 0n, 0];
    {
      await using first = await startTestApp({ ...place.settings, SECRETS_KEY: before, WEBHOOKS: 'on' });
      const owner = await buyerOf(first);
      key = owner.key;
      id = ((await subscribe(owner, receiver, headers)).json as Shown).id;
    }
    for (const [keys, reason] of [
      ['', 'their secrets are encrypted, and SECRETS_KEY is not set'],
      [after, 'SECRETS_KEY does not include the key used to encrypt their secrets'],
    ] as const) {
      await using started = await startWith(place, keys, 'cannot be signed');
      const { app, messages, unsigned } = started;
      expect(messages()).toEqual([
        `requests to some webhooks cannot be signed: ${reason}; their deliveries are pending`,
      ]);
      expect(await concernsOf(app)).toEqual([`Requests to 1 webhook cannot be signed, because ${reason}.`]);
      expect(await onHoldReasonOf(app, id)).toContain('SECRETS_KEY does not include the key');
      const client = clientOf(app, key);
      await client.addPet();
      events++;
      await until(() => unsigned() > 0);
      await until(() => areWaiting(app, events));
      const attempts = unsigned();
      await client.addPet();
      events++;
      await until(() => areWaiting(app, events));
      expect(unsigned()).toBe(attempts);
      for (const delivery of await pending(app)) {
        expect(delivery).toMatchObject({ attempts: '[]', leasedUntil: undefined });
        expect(delivery.nextAttemptAt).toBeLessThanOrEqual(app.clock.now());
      }
      const tested = await client.call('POST', `/webhooks/${id}/test`);
      expect(tested.json).toMatchObject({ error: expect.stringContaining('cannot decrypt the secret') });
      const repeated = await subscribe(client, receiver, headers);
      expect(repeated.json).toMatchObject({
        code: 'service_unavailable',
        status: 503n,
        message: expect.stringContaining('rotate its secret'),
      });
    }
    expect(receiver.requests).toEqual([]);
    await using again = await startTestApp({ ...place.settings, SECRETS_KEY: before, WEBHOOKS: 'on' });
    // The deliveries are sent immediately, without advancing the clock.
    await until(() => receiver.requests.length === 4);
    expect(await onHoldReasonOf(again, id)).toBeUndefined();
    expect((await subscribe(clientOf(again, key), receiver, headers)).status).toBe(201);
  });

  test("if the key that encrypts a webhook's secret is lost, rotating the secret restores signing", async () => {
    await using place = await open();
    await using receiver = await startReceiving();
    await using first = await startTestApp({ ...place.settings, SECRETS_KEY: before });
    const { key, call } = await buyerOf(first);
    const { id } = (await subscribe({ call }, receiver)).json as Shown;
    await first[Symbol.asyncDispose]();
    await using second = await startWith(place, after, 'cannot be signed');
    const client = clientOf(second.app, key);
    expect((await client.call('POST', `/webhooks/${id}/rotate-secret`)).status).toBe(200);
    const tested = await client.call('POST', `/webhooks/${id}/test`);
    expect([tested.json, signaturesIn(receiver.requests.at(-1))]).toMatchObject([{ status: 200n }, 1]);
  });
});

test('the secrets of many webhooks are encrypted in batches, and a secret that is rotated concurrently is kept', async () => {
  await using place = await onSqlite();
  const url = place.settings.DATABASE_URL ?? '';
  const many = 250;
  {
    await using first = await startTestApp(place.settings);
    const { account } = await first.tenant('free');
    await addWebhook(url, { accountId: account.id });
  }
  {
    using database = new Database(url.replace('sqlite:', ''));
    const columns = 'account_id, url, types, enabled, secret, position, created_at';
    database.run(`WITH RECURSIVE numbers (number) AS (VALUES (2) UNION ALL SELECT number + 1 FROM numbers WHERE number < ${many})
      INSERT INTO webhooks (${columns}) SELECT ${columns} FROM webhooks, numbers`);
  }
  await using started = await startWith(place, before, 'encrypted webhook secrets');
  const { storage } = started.app.operator;
  const all = await storage.webhooks.list(undefined, many + 1);
  expect(all.filter(({ secret }) => secret.startsWith('enc1:'))).toHaveLength(many);
  const rotated = all.at(-1) ?? expect.unreachable();
  const renewal = {
    id: rotated.id,
    before: { secret: 'sealed', formerSecret: undefined },
    after: { secret: 'lost', formerSecret: undefined },
  };
  expect(await storage.write('resealWebhooks', [renewal])).toBe(0);
  expect((await storage.webhooks.find(rotated.id))?.secret).toBe(rotated.secret);
});
