/** Measures a run: the throughput, latency and cost of one server under one load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, RunningContender } from './contender.ts';
import {
  applyLoad,
  type LoadResult,
  type LoadSettings,
  type PlannedRequest,
  planPath,
  writePlan,
} from './load.ts';
import type { PlanOptions, Scenario } from './scenarios.ts';
import { maxForeignShare, waitUntilQuiet, watchOthers } from './wait-until-quiet.ts';

export interface Sample extends LoadResult {
  readonly scenario: string;
  readonly contender: string;
  readonly round: number;
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  /**
   * Fraction of its core that the server used. If it is well below 1, the load generator or the disk was the
   * bottleneck.
   */
  readonly busy: number;
  /** Number of requests with an unexpected status or without a response. */
  readonly wrong: number;
  /** Fraction of the busier core that other programs used. */
  readonly foreign: number;
  /** Result of the concurrent load from the other client. */
  readonly beside?: LoadResult;
}

/** A server under measurement. The contender's name identifies the samples. */
export type Measurable = Omit<RunningContender, 'contender'> & {
  readonly contender: Pick<Contender, 'name'>;
};

export interface Run {
  readonly scenario: Scenario;
  readonly running: Measurable;
  readonly round: number;
  readonly seconds: number;
  readonly animals: number;
  readonly folder: string;
}

/** Maximum time for a server to finish work after a run. */
const settleTimeoutMs = 20_000;
const settleStepMs = 50;

/** Remaining time for idle waits and repeated runs. */
interface RetryOptions {
  ms: number;
}

const restTimeoutMs = 2_000;

/**
 * Returns a sample. If the run was disturbed and time is left, repeats it and returns the less disturbed sample.
 * Returns undefined if the contender does not support the scenario.
 */
export async function runLeastDisturbed(run: Run, patience: RetryOptions): Promise<Sample | undefined> {
  await patiently(patience, () => waitUntilQuiet(Math.min(restTimeoutMs, patience.ms)));
  const first = await runOnce(run);
  if (first === undefined || first.foreign <= maxForeignShare || patience.ms <= 0) return first;
  const second = await patiently(patience, () => runOnce(run));
  return second !== undefined && second.foreign < first.foreign ? second : first;
}

async function patiently<T>(patience: RetryOptions, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  patience.ms -= performance.now() - start;
  return result;
}

/** Returns a sample, or undefined if the contender does not support the scenario. */
export async function runOnce(run: Run): Promise<Sample | undefined> {
  const { scenario, running, round } = run;
  const { server, addressing } = running;
  const seconds = Math.min(run.seconds, scenario.seconds ?? run.seconds);
  const options: PlanOptions = { addressing, animals: run.animals, seconds };
  const plan = await scenario.plan(options);
  const first = plan?.[0];
  if (plan === undefined || first === undefined) return undefined;
  if (scenario.status === 429) await send(server.url, first);
  await introduce(running, plan);
  const apply = async (name: string, requests: readonly PlannedRequest[], pressure?: LoadSettings) => {
    const path = planPath(run.folder, name);
    await writePlan(path, requests);
    return () => applyLoad(server.url, path, seconds, pressure);
  };
  const main = await apply('main', plan, scenario.pressure);
  const other =
    scenario.beside && (await apply('beside', scenario.beside.plan(options), scenario.beside.pressure));

  const others = watchOthers();
  const [before, tracerBefore] = [server.usage().cpuSeconds, server.tracerCpuSeconds()];
  const [load, beside] = await Promise.all([main(), other?.()]);
  const cpuSeconds = server.usage().cpuSeconds - before;
  const tracerCpuSeconds = server.tracerCpuSeconds() - tracerBefore;
  const loadCpuSeconds = load.loadCpuSeconds + (beside?.loadCpuSeconds ?? 0);
  const foreign = others([cpuSeconds + tracerCpuSeconds, loadCpuSeconds]);
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
    ...(beside === undefined ? {} : { beside }),
  };
}

async function send(url: string, { method, target, key }: PlannedRequest): Promise<void> {
  await (await fetch(url + target, { method, headers: { Authorization: `Bearer ${key}` } })).bytes();
}

/** Number of new callers that send their first request concurrently. */
const introductionBatch = 64;

/** Sends one request for each new caller, so that a run does not measure the first lookup of a key. */
async function introduce({ server, addressing }: Measurable, plan: readonly PlannedRequest[]): Promise<void> {
  const keys = [...new Set(plan.map(({ key }) => key)).difference(server.callers)];
  if (keys.length <= 1) return;
  for (const key of keys) server.callers.add(key);
  const { target } = addressing.list;
  for (let from = 0; from < keys.length; from += introductionBatch) {
    const some = keys.slice(from, from + introductionBatch);
    await Promise.all(some.map((key) => send(server.url, { method: 'GET', target, key })));
  }
}

/** Waits until the server is idle, so that it does not disturb the next run. */
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
