/**
 * The walk of one client, sent to the service on two stores under clocks that move alike: every answer is as the model
 * says, and the same from both, ids and times included.
 */
import { scopes } from '../../../src/domain/scope.ts';
import { patient } from '../../storage/cluster-place.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { answerOf } from '../../support/call.ts';
import type { Checkable } from '../../support/contract.ts';
import { ample } from '../../support/process.ts';
import type { TestServers } from '../../support/servers.ts';
import { Failures } from '../failures.ts';
import { headersOf, type Request } from './request.ts';
import { Shared } from './shared.ts';
import { type Send, Walker } from './walker.ts';

export interface AlikeOptions {
  readonly steps: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

/** How much time passes before how many of the requests, at most. */
const clockStep = { often: 0.05, seconds: 10 } as const;

/** Throws at the first answer that differs; returns how many were compared. */
export async function walkAlike(servers: TestServers, options: AlikeOptions): Promise<number> {
  const { steps, seed, progress } = options;
  await using embedded = await startTestApp();
  await using schema = await servers.makeSchema();
  await using cluster = await startTestApp({
    DATABASE_URL: schema.url,
    REDIS_URL: servers.redisUrl,
    REDIS_PREFIX: servers.makePrefix(),
    REDIS_TIMEOUT_MS: String(patient.redisTimeoutMs),
    POSTGRES_TIMEOUT_MS: String(patient.statementTimeoutMs),
  });
  const shared = new Shared(() => embedded.clock.now());
  const walker = new Walker(0, seed, await sendTo(embedded, cluster), shared);
  const failures = new Failures(seed);
  let done = 0;
  for (; failures.count === 0 && done < steps; done++) {
    await failures.guard(done, () => walker.step([]));
    if (done % 100 === 0) progress(`${done} of ${steps} requests`);
  }
  failures.end();
  return done;
}

/** Sends each request to both, and returns the answer of the first if the second's is the same. */
async function sendTo(embedded: TestApp, cluster: TestApp): Promise<Send> {
  const [one, other] = [await clientOf(embedded), await clientOf(cluster)];
  return async (request, chance) => {
    if (chance.often(clockStep.often)) {
      const seconds = chance.int(1, 1_000 * clockStep.seconds) / 1_000;
      for (const { clock } of [embedded, cluster]) clock.advance(seconds);
    }
    const [answer, also] = await Promise.all([one(request), other(request)]);
    const [said, alsoSaid] = [answer, also].map(comparable);
    if (said !== alsoSaid)
      throw new Error(`${request.method} ${request.target}: SQLite ${said}, PostgreSQL ${alsoSaid}`);
    return answer;
  };
}

async function clientOf(app: TestApp): Promise<(request: Request) => Promise<Checkable>> {
  const { id } = await app.operator.accounts.create('walk', 'enterprise', ample);
  const { key } = await app.operator.keys.create(id, 'all', undefined, scopes);
  const { key: limitedKey } = await app.operator.keys.create(id, 'few');
  return (request) => {
    const { method, target, body, isLimited } = request;
    const headers = headersOf(request);
    return answerOf(app.url, method, target, {
      key: isLimited ? limitedKey : key,
      headers,
      type: null,
      ...(body !== undefined && { body }),
    });
  };
}

/** Headers that are the request's own, not the store's. */
const ownHeaders = new Set(['x-request-id', 'date']);

function comparable({ status, headers, text }: Checkable): string {
  return JSON.stringify([status, [...headers].filter(([name]) => !ownHeaders.has(name)).sort(), text]);
}
