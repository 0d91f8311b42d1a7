/** System status and settings for operators, and settings that can be changed at runtime. */
import { describe, expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { settings } from '../../src/config/settings.ts';
import { readConfig } from '../../src/config.ts';
import type { Concern, Overview, System } from '../../src/contract/admin/system.ts';
import type { Caller } from '../../src/domain/caller.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { keptLog } from '../support/log.ts';
import { newPet } from '../support/pets.ts';
import { newReport } from '../support/usage.ts';
import { addDeliveries, addWebhook, pendingDelivery } from '../support/webhooks.ts';

async function asOperator(app: TestApp) {
  const { token } = await addOperator(app, 'admin');
  const get = async (target: string) => {
    const { status, body } = await callAdmin(app, 'GET', target, { token });
    expect(status).toBe(200);
    return body;
  };
  return {
    token,
    overview: async () => (await get('/overview')) as Overview,
    system: async () => (await get('/system')) as System,
    logging: async () => get('/system/logging'),
  };
}

/** Time after which the overview's warnings are reevaluated. */
const laterSeconds = 10;

describe('getOverview', () => {
  test('returns statistics for every complete second since startup, with the outcomes and durations of requests', async () => {
    await using app = await startTestApp();
    const operator = await asOperator(app);
    await app.call('POST', '/pets', { body: newPet() });
    await app.call('GET', '/pets/99');
    app.clock.advance(2);
    await app.call('GET', '/pets', { key: null });
    expect((await operator.overview()).seconds.length).toBe(2);
    app.clock.advance(1);
    const { seconds, inventory, inFlight, bans, concerns } = await operator.overview();
    const counts = seconds.map(({ ok, refused, limited, failed }) => [ok, refused, limited, failed]);
    expect(counts).toEqual([
      [1, 1, 0, 0],
      [0, 0, 0, 0],
      [0, 1, 0, 0],
    ]);
    expect(seconds.map(({ p50 }) => p50 === null)).toEqual([false, true, false]);
    for (const { p50, p99 } of seconds) expect(p99 ?? 0).toBeGreaterThanOrEqual(p50 ?? 0);
    expect({ inventory, inFlight, bans, concerns }).toEqual({
      inventory: { available: 1, pending: 0, sold: 0 },
      ...{ inFlight: 0, bans: 0, concerns: [] },
    });
    app.clock.advance(3_600);
    expect((await operator.overview()).seconds.length).toBe(299);
  });

  test('returns the number of banned keys', async () => {
    await using app = await startTestApp({ BAN_STRIKES: '1' });
    const operator = await asOperator(app);
    const { key } = await app.tenant('enterprise', { perMinute: 1, perDay: 9 });
    for (let request = 0; request < 6; request++) {
      await app.call('GET', '/pets', { key });
      app.clock.advance(1);
    }
    expect((await operator.overview()).bans).toBe(1);
  });
});

describe("the overview's warnings", () => {
  const whats = (concerns: readonly Concern[]) => concerns.map(({ what }) => what);

  test('report failures in the last minute, and disappear when the failures stop', async () => {
    await using app = await startTestApp();
    const operator = await asOperator(app);
    const { counter } = app.app.watch;
    for (let failure = 0; failure < 5; failure++)
      counter.count('createPet', 'service_unavailable', undefined, performance.now());
    counter.count('listPets', undefined, undefined, performance.now());
    const { concerns } = await operator.overview();
    expect(whats(concerns)).toEqual(['5 of 6 requests in the last minute got 5xx responses.']);
    expect(concerns[0]?.remedy).toEndWith('.');
    app.clock.advance(61);
    expect((await operator.overview()).concerns).toEqual([]);
  });

  test('report an instance that ended unexpectedly, but not an instance that was stopped', async () => {
    await using app = await startTestApp({ INSTANCE_NAME: 'here' });
    const operator = await asOperator(app);
    const { storage } = app.app.admin;
    const note = (name: string, seenAt: number) =>
      storage.write('recordUsage', {
        ...{ minutes: [], latencies: [], keys: [], number: newReport(app.clock.now()) },
        instance: { name, version: '1.0.0', startedAt: 1, seenAt },
      });
    await note('gone', app.clock.now());
    await note('stopped', 0);
    await note('ahead', app.clock.now() + 3_600_000);
    expect(whats((await operator.overview()).concerns)).toEqual([
      expect.stringContaining('Instance ahead was last seen at'),
    ]);
    app.clock.advance(61);
    expect(whats((await operator.overview()).concerns)).toEqual([
      expect.stringContaining('Instance ahead was last seen at'),
      'Instance gone was last seen at 2027-01-15T10:00:00.000Z. It was killed, or cannot write to the store.',
    ]);
    expect((await operator.system()).instances.map(({ name }) => name)).toEqual(['here', 'ahead', 'gone']);
  });

  test('report a delivery that has been pending for 6 hours while its webhook is enabled', async () => {
    await using app = await startTestApp();
    const operator = await asOperator(app);
    await addWebhook(app.config.databaseUrl, { accountId: 1 });
    await addDeliveries(app.config.databaseUrl, [pendingDelivery(1n, 1n, app.clock.now())]);
    app.clock.advance(6 * 3_600 - 1);
    expect((await operator.overview()).concerns).toEqual([]);
    app.clock.advance(3_601);
    expect(whats((await operator.overview()).concerns)).toEqual([
      'The oldest pending delivery to an enabled webhook is 7 hours old.',
    ]);
    await app.operator.storage.write('disableWebhookByOperator', { id: 1n, reason: 'Gone.', now: 0 });
    app.clock.advance(laterSeconds);
    expect((await operator.overview()).concerns).toEqual([]);
  });

  test('report a deprecated operation that is called within 60 days of its sunset', async () => {
    await using app = await startTestApp({ GET_PET_SUNSET: '2027-04-15T00:00:00Z' });
    const operator = await asOperator(app);
    await app.call('GET', '/pets/1');
    await app.app.watch.recordUsage();
    expect((await operator.overview()).concerns).toEqual([]);
    app.clock.set('2027-03-01T10:00:00Z');
    expect((await operator.overview()).concerns).toEqual([]);
    await app.call('GET', '/pets/1');
    await app.app.watch.recordUsage();
    app.clock.advance(laterSeconds);
    expect(whats((await operator.overview()).concerns)).toEqual([
      'Deprecated operations were called in the last 7 days. getPet will be removed on 2027-04-15.',
    ]);
  });
});

describe('getSystem', () => {
  test('returns versions, system information, and every setting with its source', async () => {
    await using app = await startTestApp({ INSTANCE_NAME: 'first', LOG_LEVEL: 'warn' });
    const operator = await asOperator(app);
    const system = await operator.system();
    expect(system).toMatchObject({
      ...{ version: packageJson.version, runtime: `Bun ${Bun.version}`, workers: 1, troubles: [] },
      startedAt: '2027-01-15T10:00:00.000Z',
      store: { engine: 'SQLite' },
      instances: [{ name: 'first', version: packageJson.version }],
    });
    expect(system.memoryBytes).toBeGreaterThan(1_000_000);
    expect(system.settings.map(({ name }) => name)).toEqual(Object.keys(settings));
    const settingOf = (name: string) => system.settings.find((setting) => setting.name === name);
    expect(settingOf('INSTANCE_NAME')).toMatchObject({ value: 'first', source: 'environment' });
    expect(settingOf('LOG_SLOW_MS')).toMatchObject({ value: '500', source: 'default' });
  });

  test('does not return passwords or keys in settings', () => {
    const secretsKey = `${'A'.repeat(43)}=`;
    const { settings: shown } = readConfig({
      SECRETS_KEY: secretsKey,
      DATABASE_URL: 'postgres://shop:hunter2@db.example.com/shop',
      REDIS_URL: 'rediss://:hunter2@redis.example.com',
    });
    expect(JSON.stringify(shown)).not.toContain('hunter2');
    expect(JSON.stringify(shown)).not.toContain(secretsKey);
    const mistake = () => readConfig({ SECRETS_KEY: `${secretsKey},hunter2` });
    expect(mistake).toThrow('SECRETS_KEY must be');
    expect(mistake).not.toThrow('hunter2');
    expect(JSON.stringify(shown)).toContain('db.example.com');
  });
});

describe('updateLogging', () => {
  test('changes the log level and which requests are logged, effective immediately and until a restart', async () => {
    const { log, lines } = keptLog();
    await using app = await startTestApp({}, log);
    const operator = await asOperator(app);
    const requests = () => lines.filter(({ msg }) => msg === 'request').map(({ operation }) => operation);
    const update = async (body: unknown) =>
      (await callAdmin(app, 'PATCH', '/system/logging', { token: operator.token, body })).body;
    expect(await operator.logging()).toEqual({ level: 'info', requests: 'off' });
    await app.call('GET', '/pets');
    expect(await update({ requests: 'errors', level: 'info' })).toEqual({
      level: 'info',
      requests: 'errors',
    });
    await app.call('GET', '/pets');
    await app.call('GET', '/pets/99');
    expect(requests()).toEqual(['getPet']);
    expect(await update({ requests: 'all' })).toEqual({ level: 'info', requests: 'all' });
    await app.call('GET', '/pets');
    expect(requests()).toEqual(['getPet', 'listPets']);
    const changed = (await operator.system()).settings.find(({ name }) => name === 'LOG_REQUESTS');
    expect(changed).toMatchObject({ value: 'all', source: 'changed' });
    expect(await update({ level: 'warn' })).toEqual({ level: 'warn', requests: 'all' });
    await app.call('GET', '/pets');
    expect(requests().length).toBe(2);
    await update({ requests: 'off' });
    await app.restart();
    expect(await operator.logging()).toEqual({ level: 'warn', requests: 'off' });
  });

  test('rejects viewers and unknown values', async () => {
    await using app = await startTestApp();
    const viewer = await addOperator(app, 'viewer');
    const admin = await addOperator(app, 'admin');
    const body = { requests: 'none' };
    expect((await callAdmin(app, 'PATCH', '/system/logging', { token: viewer.token, body })).status).toBe(
      403,
    );
    expect((await callAdmin(app, 'PATCH', '/system/logging', { token: admin.token, body })).status).toBe(400);
  });
});

describe('the list of keys with the most requests', () => {
  test('contains the name of each key and of its account', async () => {
    await using app = await startTestApp();
    const { token } = await addOperator(app, 'viewer');
    const { counter } = app.app.watch;
    const { account, key, keyId } = await app.tenant('pro');
    const caller = { keyId, accountId: account.id } as Caller;
    for (let request = 0; request < 3; request++)
      counter.count('listPets', undefined, caller, performance.now());
    await app.call('GET', '/pets');
    await app.app.watch.recordUsage();
    const { body } = await callAdmin(app, 'GET', '/usage/callers?limit=1', { token });
    expect(body).toEqual([
      {
        ...{ keyId, keyName: 'pro', keyLastFour: key.slice(-4), accountId: account.id, accountName: 'pro' },
        ...{ ok: 3, refused: 0, limited: 0, failed: 0, deprecated: 0 },
        lastUsedAt: '2027-01-15T10:00:00.000Z',
      },
    ]);
    const untilMidnight = '/usage/callers?limit=1&until=2027-01-16T00:00:00Z';
    expect((await callAdmin(app, 'GET', untilMidnight, { token })).body).toEqual(body);
  });
});
