/** Every operation does on PostgreSQL with Redis what its scenes say; those on the embedded store are in test/robustness. */
import { afterAll, describe, setDefaultTimeout, test } from 'bun:test';
import { allOperations } from '../../src/contract/operations.ts';
import { Chance } from '../stress/generate/chance.ts';
import { bytesOf } from '../stress/generate/http.ts';
import { scenes } from '../stress/generate/scenes.ts';
import { Stage } from '../stress/generate/stage.ts';
import { Wire } from '../stress/wire.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { checkResponse } from '../support/contract.ts';
import { testServers } from '../support/servers.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { patient } from './cluster-place.ts';

setDefaultTimeout(testTimeoutMs);

/** Enough for each choice of a scene. */
const rounds = 8;

await using started = new AsyncDisposableStack();
const servers = started.use((await testServers()) ?? null);
const app = servers && started.use(await startTestApp(await settingsOn(servers)));
const kept = started.move();
afterAll(() => kept.disposeAsync());

async function settingsOn({ makeSchema, makePrefix, redisUrl }: NonNullable<typeof servers>) {
  return {
    DATABASE_URL: started.use(await makeSchema()).url,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: makePrefix(),
    REDIS_TIMEOUT_MS: String(patient.redisTimeoutMs),
    POSTGRES_TIMEOUT_MS: String(patient.statementTimeoutMs),
  };
}

describe.skipIf(app === null)('on PostgreSQL and Redis', () => {
  test.each(allOperations.map(({ operationId }, index) => [operationId, index] as const))(
    '%s',
    async (operationId, index) => {
      // Skipped without it.
      const { url, key } = app as TestApp;
      const known = { key, poorKey: key, stored: 0, cursors: [] };
      using wire = new Wire(url);
      for (let round = 0; round < rounds; round++) {
        const stage = new Stage(new Chance(20_301_205, index * rounds + round), known, async (request) => {
          const response = await wire.send(bytesOf(request));
          checkResponse(request.method, request.target, response);
          return response;
        });
        await scenes[operationId](stage);
      }
    },
  );
});
