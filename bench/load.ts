/** One run of the load generator against one server. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinned } from './machine.ts';

/** Connections the load generator keeps open by default. */
export const connections = 64;

/** Load on a server. */
export interface Pressure {
  readonly connections?: number;
  /** Delay of each connection before each of its requests. */
  readonly pauseMs?: number;
}

const script = fileURLToPath(new URL('load.lua', import.meta.url));
const fallback = fileURLToPath(new URL('peers/load.js', import.meta.url));

export interface PlannedRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly target: string;
  readonly key: string;
  /** A body as JSON. */
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answered 4xx or 5xx. */
  readonly refused: number;
  /** Not answered: connections refused, reset or timed out. */
  readonly broken: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the load generator. */
  readonly loadCpuSeconds: number;
}

/** Writes the requests that a run repeats. */
export async function writePlan(path: string, requests: readonly PlannedRequest[]): Promise<void> {
  const lines = requests.map(({ method, target, key, body }) => [method, target, key, body ?? ''].join('\t'));
  await Bun.write(path, `${lines.join('\n')}\n`);
}

/** Sends the plan for the given time. Throws with the output of the load generator if that fails. */
export async function applyLoad(
  url: string,
  plan: string,
  seconds: number,
  { connections: count = connections, pauseMs = 0 }: Pressure = {},
): Promise<LoadResult> {
  const command =
    Bun.which('wrk') === null
      ? ['node', fallback, url, String(count), String(seconds), plan, String(pauseMs)]
      : ['wrk', '-t1', `-c${count}`, `-d${seconds}s`, '-s', script, url, '--', plan, String(pauseMs)];
  const child = Bun.spawn(pinned('load', command), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const summary = output.trim().split('\n').at(-1) ?? '';
  if ((await child.exited) !== 0 || !summary.startsWith('{')) {
    throw new Error(`The load generator failed: ${errors}${output}`);
  }
  const loadCpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000;
  return { ...(JSON.parse(summary) as Omit<LoadResult, 'loadCpuSeconds'>), loadCpuSeconds };
}

/** Path of the plan with this name. */
export function planPath(folder: string, name: string): string {
  return join(folder, `${name}.plan`);
}
