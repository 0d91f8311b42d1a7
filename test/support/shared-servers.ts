/** The database servers that all test files of a run share. Each file has schemas and key prefixes of its own there. */
import { postgresTemplate, templateVariable } from './postgres-data.ts';
import { findProgram } from './server-process.ts';
import { ownPostgres, ownRedis, redisPrograms } from './servers.ts';

export interface SharedServers extends AsyncDisposable {
  /** The variables by which test processes find the servers. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Starts those that the environment does not name. The tests that need a missing one report it. */
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
  if (redisPrograms.some(findProgram)) {
    const redis = process.env.TEST_REDIS_URL ?? started.use((await ownRedis()) ?? null)?.url;
    if (redis !== undefined) environment.TEST_REDIS_URL = redis;
  }
  const kept = started.move();
  return { environment, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
