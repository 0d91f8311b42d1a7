/** Starts a server on a dedicated core, waits for its first response, and stops it. */
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pinned } from './machine.ts';
import { readTracerCpuSeconds, readUsage, type Usage } from './processes.ts';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 10_000;

interface Launch {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** A request that returns 200 as soon as the server is ready. */
  readonly probe: { readonly target: string; readonly key: string };
}

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  /** Time from the start of the process to its first 200 response. */
  readonly firstAnswerMs: number;
  /** Keys that the server has already received. */
  readonly callers: Set<string>;
  /** Returns the usage of the process and its child processes. */
  usage(): Usage;
  /** Returns the CPU time of strace; 0 if the process is not traced. */
  tracerCpuSeconds(): number;
}

/** Throws an error with the output of the server if it does not respond in time. */
export async function startServer(name: string, port: number, launch: Launch): Promise<ServerProcess> {
  const url = `http://127.0.0.1:${port}`;
  const started = performance.now();
  const child = Bun.spawn(pinned('server', launch.command), {
    ...(launch.folder === undefined ? {} : { cwd: launch.folder }),
    env: { ...process.env, NODE_ENV: 'production', ...launch.environment },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const said = outputOf(child.stderr);
  try {
    await firstAnswer(`${url}${launch.probe.target}`, launch.probe.key, () => child.exitCode !== null);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${name} did not start: ${(error as Error).message}\n${said()}`);
  }
  const firstAnswerMs = performance.now() - started;
  return {
    pid: child.pid,
    url,
    firstAnswerMs,
    callers: new Set(),
    usage: () => readUsage(child.pid),
    tracerCpuSeconds: () => readTracerCpuSeconds(child.pid),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await Promise.race([child.exited, sleep(stopTimeoutMs, undefined, { ref: false })]);
      child.kill('SIGKILL');
      await child.exited;
      process.off('exit', end);
    },
  };
}

/** Repeats the request with very short pauses until the response is 200. */
async function firstAnswer(url: string, key: string, hasEnded: () => boolean): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  let last = 'no answer';
  while (performance.now() < deadline && !hasEnded()) {
    try {
      const response = await fetch(url, { headers: { Authorization: `Bearer ${key}`, Connection: 'close' } });
      last = `${response.status} ${await response.text()}`;
      if (response.status === 200) return;
    } catch {
      last = 'no connection';
    }
    await sleep(1);
  }
  throw new Error(hasEnded() ? 'it ended' : last);
}

/**
 * Reads a stream to its end, so that its writer never blocks. The returned function returns the last 2,000 characters.
 */
function outputOf(stream: ReadableStream<Uint8Array>): () => string {
  let text = '';
  void (async () => {
    for await (const chunk of stream) text = (text + Buffer.from(chunk).toString()).slice(-2_000);
  })();
  return () => text;
}

export async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer().listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}
