import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';

/** On some systems, only root can attach to a process that is not a child process (Yama's ptrace_scope). */
const mayAttach =
  '[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]';

/** Tracing requires strace, and permission to trace other processes of the same user. */
export const tracing = [
  { name: 'strace and permission to trace', package: 'strace', optional: true },
  ['sh', '-c', `strace -qq -o /dev/null true && { ${mayAttach}; }`],
] as const;

/** A thread of the service: the main thread (JavaScript, HTTP, reads) or the thread that writes to the data file. */
export type Thread = 'answering' | 'writing';
export const threads: readonly Thread[] = ['answering', 'writing'];

interface TraceOptions {
  /** Defaults to the main thread. */
  readonly thread?: Thread;
  /** Restricts the trace to calls that access these files. Defaults to all files. */
  readonly paths?: readonly string[];
  /** A fault in strace's syntax: `fsync:error=EIO:when=2`. */
  readonly inject?: string;
  /** Traces only these calls, which is faster. Defaults to all calls. */
  readonly calls?: string;
}

/** A trace of one thread. Other threads are not affected. */
export interface Trace extends AsyncDisposable {
  /** Detaches from the process if it is still running. Returns the lines of the trace. */
  end(): Promise<string[]>;
}

export async function trace(
  pid: number,
  { thread = 'answering', paths = [], inject, calls = 'all' }: TraceOptions,
): Promise<Trace> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const file = join(folder.path, 'trace');
  const options = ['-e', `trace=${calls}`, ...(inject === undefined ? [] : ['-e', `inject=${inject}`])];
  const child = Bun.spawn(
    [
      'strace',
      '-p',
      `${threadOf(pid, thread)}`,
      '-o',
      file,
      ...options,
      ...paths.flatMap((path) => ['-P', path]),
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
  );
  made.defer(async () => {
    child.kill('SIGINT');
    await child.exited;
  });
  await attached(child.stderr);
  const kept = made.move();
  return {
    async end() {
      child.kill('SIGINT');
      await child.exited;
      return (await Bun.file(file).text()).split('\n');
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function attached(stderr: ReadableStream<Uint8Array>): Promise<void> {
  // strace reports that it has attached, or exits.
  const { value } = await stderr.getReader().read();
  const text = new TextDecoder().decode(value);
  if (!/ attached/.test(text)) throw new Error(`strace did not attach: ${text}`);
}

/** The id of a thread. The main thread has the same id as the process. The writer thread is found by name. */
function threadOf(pid: number, thread: Thread): number {
  if (thread === 'answering') return pid;
  const tasks = `/proc/${pid}/task`;
  const id = readdirSync(tasks).find((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8') === 'writer\n');
  if (id === undefined) throw new Error(`Process ${pid} has no thread named "writer".`);
  return Number(id);
}

/** A completed system call of a traced process. */
export interface TracedCall {
  readonly name: string;
  /** The arguments of the call, as strace prints them. */
  readonly text: string;
  readonly result: number;
  /** Line of the trace where the call begins. It may end on a later line, after calls by other threads. */
  readonly begunAt: number;
  readonly endedAt: number;
}

/** Parses the lines of a trace of all threads. Each line begins with a thread id. */
export function callsIn(lines: readonly string[]): TracedCall[] {
  const begun = new Map<string, { readonly line: string; readonly at: number }>();
  return lines.flatMap((whole, endedAt) => {
    const [, thread = '', line = ''] = /^(\d+) +(.*)$/s.exec(whole) ?? [];
    const [unfinished, begin] = /^(.*) <unfinished \.\.\.>$/s.exec(line) ?? [];
    if (unfinished !== undefined && begin !== undefined) {
      begun.set(thread, { line: begin, at: endedAt });
      return [];
    }
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/s.exec(line) ?? [];
    const started = rest === undefined ? undefined : begun.get(thread);
    const call = started === undefined ? line : started.line + rest;
    const [, name, text, result] = /^(\w+)\((.*)\) += (-?\d+)(?:<[^>]*>)?(?: .*)?$/s.exec(call) ?? [];
    if (name === undefined || text === undefined) return [];
    return [{ name, text, result: Number(result), begunAt: started?.at ?? endedAt, endedAt }];
  });
}

/** Number of occurrences of each system call. */
export function countsOf(lines: readonly string[]): Map<string, number> {
  const names = lines.map((line) => /^(\w+)\(/.exec(line)?.[1]).filter((name) => name !== undefined);
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

/** True if the fault was injected. strace marks the calls it changes, and reports killed processes. */
export function wasInjected(lines: readonly string[]): boolean {
  return lines.some((line) => line.includes('(INJECTED') || line.includes('+++ killed by'));
}

/** Delays every sync of the data file until the trace ends. */
export function holdSyncs(pid: number): Promise<Trace> {
  const syncs = 'fsync,fdatasync';
  return trace(pid, {
    thread: 'writing',
    calls: syncs,
    // The delay is in microseconds, and longer than any test.
    inject: `${syncs}:delay_enter=1000000000`,
  });
}
