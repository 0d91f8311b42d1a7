import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('starting on PostgreSQL', () => {
  const makeSchema = () => servers?.makeSchema() ?? expect.unreachable();
  const configFor = (url: string) =>
    readConfig({
      DATABASE_URL: url,
      REDIS_URL: servers?.redisUrl ?? '',
      REDIS_PREFIX: servers?.makePrefix() ?? '',
      POSTGRES_TIMEOUT_MS: '5000',
    });

  test('succeeds even if the server does not respond to the first attempt in time', async () => {
    await using schema = await makeSchema();
    const config = configFor(schema.url);
    {
      await using _made = await openAdminServices(config, undefined, { create: true });
    }
    await using sql = new SQL(schema.url, { max: 1 });
    const locked = Promise.withResolvers<void>();
    const noticed = Promise.withResolvers<void>();
    const holding = sql.begin(async (transaction) => {
      await transaction`LOCK TABLE store IN ACCESS EXCLUSIVE MODE`;
      locked.resolve();
      await noticed.promise;
    });
    await locked.promise;
    const notices: string[] = [];
    const notice = (text: string) => {
      notices.push(text);
      noticed.resolve();
    };
    // If the start fails, the lock must be released before the test ends.
    const starting = openAdminServices(config, undefined, { notice }).finally(() => noticed.resolve());
    await using _services = await starting;
    await holding;
    expect(notices).toEqual(['PostgreSQL did not respond in time during startup; trying again']);
  });

  test('fails immediately if the server refuses connections', async () => {
    const notices: string[] = [];
    const url = 'postgres://store@127.0.0.1:1/animals';
    const opening = openAdminServices(configFor(url), undefined, { notice: (text) => notices.push(text) });
    await expect(opening).rejects.toThrow('connection refused');
    expect(notices).toEqual([]);
  });
});
