/** Database servers that all test files of a run share. Each file uses separate schemas and key prefixes. */
import { postgresTemplate, templateVariable } from './postgres-data.ts';
import { ownPostgres, ownRedis, redisProgram } from './servers.ts';

interface SharedServers extends AsyncDisposable {
  /** Environment variables with the servers' addresses. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Starts the servers that the environment does not specify. If a server cannot be started, the tests that need it
 * report the failure.
 */
export async function sharedServers(): Promise<SharedServers> {
  await using started = new AsyncDisposableStack();
  const environment: Record<string, string> = {};
  const template = started.use((await postgresTemplate()) ?? null);
  if (template !== null) {
    environment[templateVariable] = template.path;
    process.env[templateVariable] = template.path;
    started.defer(() => {
      delete process.env[templateVariable];
    });
    const postgres = process.env.TEST_POSTGRES_URL ?? started.use((await ownPostgres()) ?? null)?.url;
    if (postgres !== undefined) environment.TEST_POSTGRES_URL = postgres;
  }
  if (redisProgram() !== undefined) {
    const redis = process.env.TEST_REDIS_URL ?? started.use((await ownRedis()) ?? null)?.url;
    if (redis !== undefined) environment.TEST_REDIS_URL = redis;
  }
  const kept = started.move();
  return { environment, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
