/** `backup verify` of a store on PostgreSQL. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { verifyServer } from '../../src/backups.ts';
import { newWorkplace } from '../support/cli.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { openSession, writeStoreOfFormat } from './postgres-kit.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('the verification of a store on PostgreSQL', () => {
  // Skipped without it.
  const { makeSchema } = servers ?? ({} as NonNullable<typeof servers>);

  test('counts its rows and says which format it has, and does not upgrade it', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOfFormat(session, 4);
    const verified = await verifyServer(schema.url);
    expect(verified).toMatchObject({
      format: 4,
      counts: { animal_store_format: 1 },
    });
    expect(verified.newestFormat).toBeGreaterThan(4);
    const [{ count }] = await session`SELECT count(*) AS count FROM pets`;
    expect(BigInt(verified.counts.pets as number)).toBe(count);
    const [{ version }] = await session`SELECT version FROM animal_store_format`;
    expect(Number(version)).toBe(4);
  });

  test('says so where there is no store, and changes nothing', async () => {
    await using schema = await makeSchema();
    expect(await rejectionOf(verifyServer(schema.url))).toMatchObject({
      message: expect.stringContaining('No store found'),
    });
  });

  test('is a command', async () => {
    await using schema = await makeSchema();
    await using session = openSession(schema.url);
    await writeStoreOfFormat(session, 4);
    await using place = await newWorkplace({ store: false });
    const { exitCode, stdout } = await place.run(['backup', 'verify'], {
      environment: { DATABASE_URL: schema.url, REDIS_URL: 'redis://127.0.0.1:1' },
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Counted all rows of the store.')]);
  });
});
