import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';

/** Some systems let only root attach to a process that is no child (ptrace_scope of Yama). */
const mayAttach =
  '[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]';

/** What these tests need of the machine: strace, and the right to trace other processes of the same user. */
export const tracing = [
  { name: 'strace that may trace', package: 'strace', optional: true },
  ['sh', '-c', `strace -qq -o /dev/null true && { ${mayAttach}; }`],
] as const;

export interface TraceOptions {
  /** Only calls that touch these files are seen and disturbed; all when there are none. */
  readonly paths?: readonly string[];
  /** A fault, as strace writes it: `fsync:error=EIO:when=2`. */
  readonly inject?: string;
  /** Which calls are stopped at, all by default; fewer are faster. */
  readonly calls?: string;
}

/** A trace of the main thread, where JavaScript, HTTP and SQLite run; other threads are left alone. */
export interface Trace extends AsyncDisposable {
  /** Lets go of the process, if it still lives, and returns the lines of the trace. */
  end(): Promise<string[]>;
}

export async function trace(
  pid: number,
  { paths = [], inject, calls = 'all' }: TraceOptions,
): Promise<Trace> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const file = join(folder.path, 'trace');
  const options = ['-e', `trace=${calls}`, ...(inject === undefined ? [] : ['-e', `inject=${inject}`])];
  const child = Bun.spawn(
    ['strace', '-p', `${pid}`, '-o', file, ...options, ...paths.flatMap((path) => ['-P', path])],
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
  // It says so, or ends.
  const { value } = await stderr.getReader().read();
  const text = new TextDecoder().decode(value);
  if (!/ attached/.test(text)) throw new Error(`strace did not attach: ${text}`);
}

/** How often each call was made. */
export function countsOf(lines: readonly string[]): Map<string, number> {
  const names = lines.map((line) => /^(\w+)\(/.exec(line)?.[1]).filter((name) => name !== undefined);
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

/** Whether the fault came about: strace marks what it changed, and a killed process. */
export function wasInjected(lines: readonly string[]): boolean {
  return lines.some((line) => line.includes('(INJECTED') || line.includes('+++ killed by'));
}
