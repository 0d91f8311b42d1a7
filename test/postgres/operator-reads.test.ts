/** Reads of operators that wait for earlier ones. */

import { afterAll, expect, test } from 'bun:test';
import { revokeOperator } from '../../src/operations/admin/operators.ts';
import { stalledMs } from '../../src/storage/postgres/connections.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { newPet } from '../support/pets.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

test.skipIf(servers === undefined).each(['/accounts', '/events?wait=30'])(
  'GET %s waits for two slow reads of its operator, and gets 401 if the operator is revoked in the meantime',
  async (target) => {
    const { makeSchema, redisUrl, makePrefix } = servers as NonNullable<typeof servers>;
    await using schema = await makeSchema();
    const redis = { REDIS_URL: redisUrl, REDIS_PREFIX: makePrefix() };
    const settings = { DATABASE_URL: schema.url, ...redis, ...patientSettings };
    await using app = await startTestApp(settings);
    const { token, id } = await addOperator(app, 'viewer');
    const { token: others } = await addOperator(app, 'viewer');
    await app.call('POST', '/pets', { body: newPet() });
    await using session = openSession(schema.url);
    await session`BEGIN`;
    await session`LOCK TABLE orders`;
    const slow: ReturnType<typeof callAdmin>[] = [];
    for (const count of [1, 2]) {
      slow.push(callAdmin(app, 'GET', '/orders', { token }));
      let stalledAt = Number.POSITIVE_INFINITY;
      // No other statement is sent on a stalled connection.
      await until(async () => {
        const held = await session`SELECT FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass`;
        if (held.length === count) stalledAt = Math.min(stalledAt, performance.now());
        return performance.now() - stalledAt > stalledMs;
      });
    }
    const waiting = callAdmin(app, 'GET', target, { token });
    expect((await callAdmin(app, 'GET', target, { token: others })).status).toBe(200);
    await revokeOperator(app.app.admin, id);
    await session`ROLLBACK`;
    expect((await waiting).status).toBe(401);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
  },
);
