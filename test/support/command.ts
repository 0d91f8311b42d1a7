/** Runs commands in the test process, which avoids starting a new process. */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { sandboxTool } from '../../sandbox/command.ts';
import { run } from '../../src/cli/cli.ts';
import { type Ended, root } from './process.ts';

/** The program, to which a command's arguments are appended. */
export const commandLine = [process.execPath, join(root, 'src/main.ts')] as const;

interface Surroundings {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array | undefined;
}

/**
 * The most recent command. Commands run one after the other, because a process has only one working directory and one
 * standard output.
 */
let last: Promise<unknown> = Promise.resolve();

export function runInProcess(
  args: readonly string[],
  { cwd, environment, stdin = '' }: Surroundings,
): Promise<Ended> {
  const ended = last.then(async () => {
    using _folder = workingIn(cwd);
    // Commands use this path to start other processes of the program.
    using _main = withProperty(Bun, 'main', commandLine[1]);
    using _stdin = withProperty(process, 'stdin', Readable.from([Buffer.from(stdin)]));
    using stdout = captured(process.stdout);
    using stderr = captured(process.stderr);
    const exitCode = await run(args, environment, [], [sandboxTool]);
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
  });
  last = ended.catch(() => undefined);
  return ended;
}

function workingIn(folder: string): Disposable {
  const before = process.cwd();
  process.chdir(folder);
  return { [Symbol.dispose]: () => process.chdir(before) };
}

function withProperty<T extends object>(target: T, name: keyof T, value: unknown): Disposable {
  const before = target[name];
  Reflect.set(target, name, value);
  return { [Symbol.dispose]: () => Reflect.set(target, name, before) };
}

/** Captures what is written to a stream. While captured, the stream does not report itself as a terminal. */
function captured(stream: NodeJS.WriteStream): { text(): string } & Disposable {
  const parts: string[] = [];
  const { write, isTTY } = stream;
  const { FORCE_COLOR: color } = process.env;
  delete process.env.FORCE_COLOR;
  stream.isTTY = false;
  stream.write = (part: string | Uint8Array, ...rest: unknown[]) => {
    parts.push(typeof part === 'string' ? part : Buffer.from(part).toString());
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
  return {
    text: () => parts.join(''),
    [Symbol.dispose]: () => {
      stream.write = write;
      stream.isTTY = isTTY;
      if (color !== undefined) process.env.FORCE_COLOR = color;
    },
  };
}
