/** Runs the load generator against a server. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinned } from './machine.ts';

/** Default number of open connections of the load generator. */
export const connections = 64;

export interface LoadSettings {
  readonly connections?: number;
  /** Delay before each request on a connection. */
  readonly pauseMs?: number;
}

const script = fileURLToPath(new URL('load.lua', import.meta.url));
const fallback = fileURLToPath(new URL('peers/load.js', import.meta.url));

export interface PlannedRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly target: string;
  readonly key: string;
  /** Request body as JSON text. */
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Number of responses with 4xx or 5xx. */
  readonly refused: number;
  /** Number of requests without a response: connection refused, reset or timed out. */
  readonly broken: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the load generator. */
  readonly loadCpuSeconds: number;
}

/** Writes a plan, which contains the requests that a run sends in a loop. */
export async function writePlan(path: string, requests: readonly PlannedRequest[]): Promise<void> {
  const lines = requests.map(({ method, target, key, body }) => [method, target, key, body ?? ''].join('\t'));
  await Bun.write(path, `${lines.join('\n')}\n`);
}

/** Sends the requests of a plan for the given time. Throws an error with the load generator's output on failure. */
export async function applyLoad(
  url: string,
  plan: string,
  seconds: number,
  { connections: count = connections, pauseMs = 0 }: LoadSettings = {},
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

/** Returns the path of the plan with this name. */
export function planPath(folder: string, name: string): string {
  return join(folder, `${name}.plan`);
}
