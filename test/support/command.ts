/** The command line in the process of the tests: what a command does and says, without what starting a process takes. */
import { run } from '../../src/cli/cli.ts';

/** A command that has ended. */
export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A process has one working directory and one standard output, so that commands run one after the other. */
let last: Promise<unknown> = Promise.resolve();

export function runHere(args: readonly string[], { cwd, environment }: Surroundings): Promise<Ended> {
  const ended = last.then(async () => {
    using _folder = workingIn(cwd);
    using stdout = captured(process.stdout);
    using stderr = captured(process.stderr);
    const exitCode = await run(args, environment);
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

/** Keeps what is written to a stream, which meanwhile is no terminal, as little as a pipe is. */
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
