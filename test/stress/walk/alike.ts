/**
 * Runs a single client's random walk on both SQLite and PostgreSQL, with synchronized clocks. Every response
 * must match the model and be identical on both stores, including ids and times.
 */
import type { OperationId } from '../../../src/contract/operations.ts';
import { retentionMs } from '../../../src/operations/changes/idempotency.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { patientSettings } from '../../support/cluster.ts';
import type { Checkable } from '../../support/contract.ts';
import type { TestServers } from '../../support/servers.ts';
import { Failures } from '../failures.ts';
import { Chance } from '../generate/chance.ts';
import { audit } from './audit.ts';
import { Caller, callerKeys } from './caller.ts';
import { Shared } from './shared.ts';
import { secretMember } from './tags.ts';
import { operationIds, type Send, Walker } from './walker.ts';
import { notMet } from './ways.ts';

interface AlikeOptions {
  readonly seed: number;
  /** Minimum number of requests. The walk continues until every outcome of every operation has occurred. */
  readonly steps: number;
  readonly mostSteps: number;
  /** If true, days pass between some requests, so that stored responses expire. */
  readonly crossesDays: boolean;
  /** Selects the outcomes that must occur. Defaults to all outcomes. */
  readonly isRequired?: (way: string) => boolean;
  readonly progress: (line: string) => void;
}

/** Number of additional entries in the schedule for each operation with missing outcomes. */
const moreOfUnmet = 10;
/** Number of requests between checks for missing outcomes. */
const stepsPerLook = 20;
/** Before each request, the clocks advance with probability `often`, by up to `seconds`. */
const clockStep = { often: 0.05, seconds: 10 } as const;
/**
 * More than a day passes with this probability, at most `most` times, so that stored responses expire. Sometimes,
 * they are also pruned. `EVENTS_KEEP_DAYS` exceeds the sum, because the model forgets no events.
 */
const days = { often: 0.02, seconds: 25 * 3_600, most: 300, pruned: 0.3 } as const;
const settings = { EVENTS_KEEP_DAYS: '365' };

/**
 * Throws on the first wrong response. Returns the number of requests. Without servers, only the embedded store is
 * tested.
 */
export async function walkAlike(servers: TestServers | undefined, options: AlikeOptions): Promise<number> {
  const { steps, mostSteps, seed, progress, crossesDays, isRequired = () => true } = options;
  await using started = new AsyncDisposableStack();
  const embedded = started.use(await startTestApp(settings));
  const apps = [embedded, ...(servers ? [await startOn(servers, started)] : [])];
  const shared = new Shared(() => embedded.clock.now());
  const send = await sendTo(apps, started, crossesDays ? new Chance(seed, -2) : undefined);
  const unmet = () => notMet(shared.answers, crossesDays).filter(isRequired);
  let lastUnmet = unmet();
  const inTurn = () => [...operationIds, ...operationsOf(lastUnmet)];
  const steering = { inTurn, unmet: () => lastUnmet };
  const walker = new Walker({ index: 0, seed, send, shared, isAlone: true, ...steering });
  const failures = new Failures(seed);
  let done = 0;
  const isDone = () => {
    if (done % stepsPerLook === 0) lastUnmet = unmet();
    return done >= steps && lastUnmet.length === 0;
  };
  for (; failures.count === 0 && !isDone(); done++) {
    if (done >= mostSteps) failures.add(done, `never met: ${unmet().join('; ')}`);
    await failures.guard(done, () => walker.step([]));
    if (done % 100 === 0) progress(`${done} of ${steps} requests`);
  }
  failures.end();
  const read = { operationId: 'listPets', method: 'GET', act: () => ({ status: 200 }) } as const;
  await audit((target) => send({ ...read, target }, new Chance(seed, -1)), walker.scene.world);
  return done;
}

/** Operations with missing outcomes, each repeated `moreOfUnmet` times. */
function operationsOf(ways: readonly string[]): OperationId[] {
  const unmet = new Set(ways.map((way) => way.split(' ')[0]));
  return operationIds.filter((id) => unmet.has(id)).flatMap((id) => Array<OperationId>(moreOfUnmet).fill(id));
}

async function startOn(
  { makeSchema, makePrefix, redisUrl }: TestServers,
  started: AsyncDisposableStack,
): Promise<TestApp> {
  const { url } = started.use(await makeSchema());
  const servers = { DATABASE_URL: url, REDIS_URL: redisUrl, REDIS_PREFIX: makePrefix() };
  return started.use(await startTestApp({ ...servers, ...settings, ...patientSettings }));
}

/** Sends each request to all services and returns the response. Throws if the responses differ. */
async function sendTo(
  apps: readonly TestApp[],
  started: AsyncDisposableStack,
  chanceOfDay: Chance | undefined,
): Promise<Send> {
  let daysLeft: number = days.most;
  const callers = await Promise.all(
    apps.map(async ({ url, operator }) => started.use(new Caller([url], await callerKeys(operator)))),
  );
  return async (request, chance) => {
    if (chance.often(clockStep.often)) {
      const seconds = chance.int(1, 1_000 * clockStep.seconds) / 1_000;
      for (const { clock } of apps) clock.advance(seconds);
    }
    if (chanceOfDay !== undefined && daysLeft > 0 && chanceOfDay.often(days.often)) {
      daysLeft--;
      await passDay(apps, chanceOfDay.often(days.pruned));
    }
    const spelling = chance.int(0, 2 ** 31);
    const answers = await Promise.all(callers.map((caller) => caller.send(request, new Chance(spelling, 0))));
    const [answer, also] = answers as [Checkable, Checkable?];
    const empty = answers.filter((one) => isEmptySearch(request.target, one));
    // One store has found an event before its time was up.
    if (empty.length === 1 && also !== undefined && answer.status === also.status) return answer;
    const ignored = empty.length > 0 ? searchHeaders : ownHeaders;
    const [said, alsoSaid] = [answer, also ?? answer].map((one) => comparable(one, ignored));
    if (said !== alsoSaid)
      throw new Error(`${request.method} ${request.target}: SQLite ${said}, PostgreSQL ${alsoSaid}`);
    return answer;
  };
}

async function passDay(apps: readonly TestApp[], isPruned: boolean): Promise<void> {
  for (const { clock, operator } of apps) {
    clock.advance(days.seconds);
    if (isPruned) while (await operator.storage.write('pruneResponses', clock.now() - retentionMs));
  }
}

/** Headers that differ between any two services. */
const ownHeaders: ReadonlySet<string> = new Set(['x-request-id', 'date']);
/** Headers that also differ between empty pages of filtered events, because time limits the search (`maxSearchMs`). */
const searchHeaders: ReadonlySet<string> = new Set([...ownHeaders, 'x-events-position', 'link']);

const isEmptySearch = (target: string, { headers }: Checkable) =>
  /^\/events\?.*\btype=/.test(target) && headers.get('content-length') === '2';

function comparable({ status, headers, text }: Checkable, ignored: ReadonlySet<string>): string {
  // The measured duration of a test event differs between services.
  if (status === 200 && /^\{("status":\d+,)?"milliseconds"/.test(text)) return '';
  const shown = text.replace(secretMember, '}');
  return JSON.stringify([status, [...headers].filter(([name]) => !ignored.has(name)).sort(), shown]);
}
