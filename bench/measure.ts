/** One run: one server under one load, and what it cost. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, Running } from './contender.ts';
import { applyLoad, type LoadResult, type PlannedRequest, planPath, writePlan } from './load.ts';
import { mostForeign, quiet, watchOthers } from './quiet.ts';
import type { Scenario } from './scenarios.ts';

export interface Sample extends LoadResult {
  readonly scenario: string;
  readonly contender: string;
  readonly round: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  /** Part of its core the server used; well under 1 means the load generator was the limit, or the disk. */
  readonly busy: number;
  /** Answers with another status than the scenario expects, and requests without an answer. */
  readonly wrong: number;
  /** Part of the busier core that other programs took. */
  readonly foreign: number;
}

/** A server under measurement; the name tells its samples apart. */
export type Measurable = Omit<Running, 'contender'> & { readonly contender: Pick<Contender, 'name'> };

export interface Run {
  readonly scenario: Scenario;
  readonly running: Measurable;
  readonly round: number;
  readonly seconds: number;
  readonly animals: number;
  readonly folder: string;
}

/** How long a server may go on with what the load generator left behind. */
const settleTimeoutMs = 20_000;
const settleStepMs = 50;

/** What is left of the time a measurement may spend on waiting for rest and on repeating disturbed runs. */
export interface Patience {
  ms: number;
}

const restTimeoutMs = 2_000;

/** A sample, or the less disturbed of two while patience lasts; undefined where the contender cannot do this. */
export async function leastDisturbed(run: Run, patience: Patience): Promise<Sample | undefined> {
  await patiently(patience, () => quiet(Math.min(restTimeoutMs, patience.ms)));
  const first = await runOnce(run);
  if (first === undefined || first.foreign <= mostForeign || patience.ms <= 0) return first;
  const second = await patiently(patience, () => runOnce(run));
  return second !== undefined && second.foreign < first.foreign ? second : first;
}

async function patiently<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  patience.ms -= performance.now() - start;
  return result;
}

/** One sample; undefined where the contender cannot do this. */
export async function runOnce({
  scenario,
  running,
  round,
  seconds,
  animals,
  folder,
}: Run): Promise<Sample | undefined> {
  const lasts = Math.min(seconds, scenario.seconds ?? seconds);
  const plan = await scenario.plan({ addressing: running.addressing, animals, seconds: lasts });
  const first = plan?.[0];
  if (plan === undefined || first === undefined) return undefined;
  if (scenario.status === 429) await send(running.server.url, first);
  const path = planPath(folder, scenario.name);
  await writePlan(path, plan);
  await introduce(running, plan);

  const others = watchOthers();
  const before = running.server.usage().cpuSeconds;
  const load = await applyLoad(running.server.url, path, lasts);
  const cpuSeconds = running.server.usage().cpuSeconds - before;
  const foreign = others([cpuSeconds, load.loadCpuSeconds]);
  await settled(running);

  const expected = scenario.status === 429 ? load.refused : load.requests - load.refused;
  return {
    scenario: scenario.name,
    contender: running.contender.name,
    round,
    ...load,
    requestsPerSecond: load.requests / load.seconds,
    cpuMicrosecondsPerRequest: (cpuSeconds * 1_000_000) / load.requests,
    busy: cpuSeconds / load.seconds,
    wrong: load.requests - expected + load.broken,
    foreign,
  };
}

async function send(url: string, { method, target, key }: PlannedRequest): Promise<void> {
  await (await fetch(url + target, { method, headers: { Authorization: `Bearer ${key}` } })).bytes();
}

/** How many callers are introduced at once. */
const introducedAtOnce = 64;

/** Lets each of many callers make one request, so that a run is not about first look-ups. */
async function introduce({ server, addressing }: Measurable, plan: readonly PlannedRequest[]): Promise<void> {
  const keys = [...new Set(plan.map(({ key }) => key))];
  if (keys.length === 1) return;
  const { target } = addressing.list;
  for (let from = 0; from < keys.length; from += introducedAtOnce) {
    const some = keys.slice(from, from + introducedAtOnce);
    await Promise.all(some.map((key) => send(server.url, { method: 'GET', target, key })));
  }
}

/** Waits until a server has nothing left to do, so that it does not disturb the next one's run. */
async function settled({ server }: Measurable): Promise<void> {
  const deadline = performance.now() + settleTimeoutMs;
  let last = Number.NaN;
  while (performance.now() < deadline) {
    const { cpuSeconds } = server.usage();
    if (cpuSeconds === last) return;
    last = cpuSeconds;
    await sleep(settleStepMs);
  }
}
