import { afterAll, expect } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { totalAnimals } from '../../src/contract/pets.ts';
import { petJson } from '../../src/contract/representations.ts';
import { commandLine, runInProcess } from './command.ts';
import { temporaryFolder } from './folder.ts';
import { type Ended, makeStore, operatorOf, type Service, settingsIn, startService } from './process.ts';

export { commandLine } from './command.ts';
export type { Ended } from './process.ts';

export type Child = Bun.Subprocess<'pipe', 'pipe', 'pipe'>;

type Environment = Readonly<Record<string, string>>;

export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly environment?: Environment;
}

/** A working directory for commands, with a separate store. */
export interface Workplace extends AsyncDisposable {
  readonly folder: string;
  path(name: string): string;
  files(): Promise<string[]>;
  /** Writes a file and returns its name. */
  write(name: string, content: string | Uint8Array): Promise<string>;
  /** The most recently added animals in the store, as JSON without ids. */
  lastRows(count: number): Promise<string[]>;
  /** Runs a command in this process, or `serve` in a separate one. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs a command that must succeed and print one line of JSON. */
  json<T>(...args: string[]): Promise<T>;
  /** Runs a command that must succeed without writing to standard error. Returns the command's standard output. */
  output(...args: string[]): Promise<string>;
  /**
   * Runs a command that must fail with this exit code and write nothing to standard output. Returns the error message.
   */
  failure(exitCode: 1 | 2, ...args: string[]): Promise<string>;
  /** Starts a command in a separate process. Pass the process to `ended` for the result. */
  start(args: readonly string[], environment?: Environment): Child;
  /** Starts the service on the store. Disposing of the `Workplace` stops the service. */
  serve(environment?: Environment): Promise<Service>;
}

/** Output of `import --json`. */
export interface ImportReport {
  readonly file: string;
  readonly status: string;
  readonly dryRun: boolean;
  readonly added: number;
  readonly rejected: number;
  readonly skipped: number;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly firstId: number | null;
  readonly lastId: number | null;
  readonly total: { readonly added: number; readonly rejected: number };
  readonly rejects: string | null;
}

interface WorkplaceOptions {
  /** If true, creates an empty store. */
  readonly store: boolean;
}

export async function newWorkplace({ store }: WorkplaceOptions = { store: true }): Promise<Workplace> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const inFolder = settingsIn(folder.path);
  if (store) await makeStore(folder.path);

  const start = (args: readonly string[], environment: Environment = {}): Child =>
    Bun.spawn([...commandLine, ...args], {
      cwd: folder.path,
      // Commands do not inherit the environment of the tests, which includes npm's variables.
      env: { PATH: process.env.PATH ?? '', ...inFolder, ...environment },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    });

  async function run(args: readonly string[], { stdin, environment }: RunOptions = {}): Promise<Ended> {
    if (args[0] === 'serve') return ended(start(args, environment));
    return runInProcess(args, { cwd: folder.path, environment: { ...inFolder, ...environment }, stdin });
  }

  const kept = made.move();
  return {
    folder: folder.path,
    path: (name) => join(folder.path, name),
    files: () => readdir(folder.path),
    async write(name, content) {
      await Bun.write(join(folder.path, name), content);
      return name;
    },
    async lastRows(count) {
      await using admin = await operatorOf(folder.path);
      const before = BigInt(totalAnimals(await admin.storage.pets.inventory()) - count);
      const pets = await admin.storage.pets.list(before, count);
      return pets.map((pet) => petJson(pet).replace(/"id":\d+,/, ''));
    },
    run,
    async json<T>(...args: string[]): Promise<T> {
      const { exitCode, stdout, stderr } = await run([...args, '--json']);
      if (exitCode === 0 && /^[^\n]+\n$/.test(stdout)) return JSON.parse(stdout) as T;
      throw new Error(`${args.join(' ')} exited with ${exitCode}:\n${stdout}${stderr}`);
    },
    async output(...args) {
      const { exitCode, stdout, stderr } = await run(args);
      expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
      return stdout;
    },
    async failure(expected, ...args) {
      const { exitCode, stdout, stderr } = await run(args);
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: expected, stdout: '' });
      return stderr;
    },
    start,
    serve: async (environment) =>
      kept.use(await startService(folder.path, { DRAIN_SECONDS: '0', ...environment })),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Creates a `Workplace` that all tests in a file share. Call this at the top level of the test file. */
export async function sharedWorkplace(options?: WorkplaceOptions): Promise<Workplace> {
  const place = await newWorkplace(options);
  afterAll(() => place[Symbol.asyncDispose]());
  return place;
}

/**
 * Waits for a command to exit. Returns its output and exit code, which is 128 plus the signal number if a signal ended
 * the command.
 */
export async function ended(child: Child): Promise<Ended> {
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}
