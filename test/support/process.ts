import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AdminServices, openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import type { PlanName, Quota } from '../../src/domain/plan.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { builtProgramVariable } from './built-program.ts';
import { until } from './wait.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Maximum time to wait for the last output, because a leftover child process may keep the program's pipes open. */
const lastWordsMs = 10_000;

/** A running program and its output. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  /** The exit code, or 128 plus the signal number if a signal ended the program. */
  readonly exited: Promise<number>;
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** Resolves when standard output contains this text. Rejects if the program exits first. */
  said(text: string | RegExp): Promise<void>;
  /** Resolves when the log on standard error contains this text. Rejects if the program exits first. */
  logged(text: string | RegExp): Promise<void>;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts a program. The program inherits only PATH and HOME, and is killed when it is disposed of. */
export function start(
  command: readonly string[],
  { environment = {}, cwd = root }: RunOptions = {},
): Running {
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  // The program may exit before its last output is read.
  const exited = child.exited.then(async (code) => {
    await Promise.race([Promise.all([stdout.done, stderr.done]), Bun.sleep(lastWordsMs)]);
    return code;
  });
  let hasEnded = false;
  void exited.then(() => {
    hasEnded = true;
  });
  const written = async (output: () => string, text: string | RegExp) => {
    const isThere = () => (typeof text === 'string' ? output().includes(text) : text.test(output()));
    await until(() => isThere() || hasEnded);
    if (!isThere()) throw new Error(`The program did not print ${text}.\n${stdout.text()}${stderr.text()}`);
  };
  return {
    pid: child.pid,
    exited,
    stdout: stdout.text,
    stderr: stderr.text,
    signal: (name) => child.kill(name),
    said: (text) => written(stdout.text, text),
    logged: (text) => written(stderr.text, text),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** Output and exit code of a program that has exited. */
export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it exits. */
export async function finished(command: readonly string[], options?: RunOptions): Promise<Ended> {
  await using running = start(command, options);
  const exitCode = await running.exited;
  return { exitCode, stdout: running.stdout(), stderr: running.stderr() };
}

function collect(stream: ReadableStream<Uint8Array>): { text: () => string; done: Promise<void> } {
  const decoder = new TextDecoder();
  let text = '';
  const read = async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  return { text: () => text, done: read() };
}

/** The service in a separate process on a free port, as `npm start` starts it. */
export interface Service extends Running {
  /** Base URL, without /v1. */
  readonly url: string;
  /** The initial key of a new store. Undefined if the store already existed. */
  readonly firstKey: string | undefined;
}

/** Settings of a service whose store is in this folder. */
export function settingsIn(folder: string): Record<string, string> {
  return { PORT: '0', DATABASE_URL: `sqlite:${dataFileIn(folder)}` };
}

export function dataFileIn(folder: string): string {
  return join(folder, 'store.db');
}

/** Path of the limit file of the embedded store in this folder. */
export function limitFileIn(folder: string): string {
  return join(folder, 'store.limits');
}

const fromSource = [process.execPath, '--no-env-file', join(root, 'src/main.ts')];
const built = process.env[builtProgramVariable];

/** The program, to which a command's arguments are appended. */
export const program = built === undefined ? fromSource : [built];

export const serveCommand = [...program, 'serve'];

/** The command that starts the service with a preloaded module. Workers preload the module as well. */
export function serveWith(preload: string): string[] {
  return [process.execPath, '--preload', join(root, preload), ...fromSource.slice(1), 'serve'];
}

/** Starts the service on the store in this folder, and waits for the last startup message. */
export async function startService(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  command: readonly string[] = serveCommand,
  cwd = root,
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  const isNew = !existsSync(dataFileIn(folder));
  const running = started.use(
    start(command, { environment: { ...settingsIn(folder), ...environment }, cwd }),
  );
  await running.said(isNew ? /^Manage .*\n.*\n/m : /^Reference .*\n/m);
  const url = /^Animal Store API +(http:\S+)\/v1$/m.exec(running.stdout())?.[1];
  if (url === undefined) throw new Error(`The output contains no address:\n${running.stdout()}`);
  const kept = started.move();
  return {
    ...running,
    url,
    firstKey: firstKeyOf(running),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** URL of the console that the service prints, without a trailing slash. */
export async function consoleOf({ said, stdout }: Running): Promise<string> {
  await said(/^Console .*\n/m);
  return /^Console +(http\S+)$/m.exec(stdout())?.[1] ?? '';
}

/** The initial key of a new store, read from the file that the output names. Undefined if the output names no file. */
export function firstKeyOf({ pid, stdout }: Running): string | undefined {
  const file = /^Created a new store\. .* is in (.*); copy the key/m.exec(stdout())?.[1];
  if (file === undefined) return undefined;
  // A service in a private mount namespace reports a path within that namespace.
  return readFileSync(existsSync(file) ? file : `/proc/${pid}/root${file}`, 'utf8').trim();
}

/** Creates an empty store in a folder. */
export async function makeStore(folder: string): Promise<void> {
  await using _admin = await openAdminServices(readConfig(settingsIn(folder)), undefined, { create: true });
}

/** Opens the store in a folder as the command line does. */
export function operatorOf(folder: string): Promise<AdminServices> {
  return openAdminServices(readConfig(settingsIn(folder)));
}

/** Creates an account with a key while the service is running. Returns the key. */
export async function issueKey(
  folder: string,
  plan: PlanName,
  quota?: Quota,
  scopes?: readonly Scope[],
): Promise<string> {
  await using operator = await operatorOf(folder);
  const account = await operator.accounts.create(plan, plan, quota);
  return (await operator.keys.create(account.id, plan, undefined, scopes)).key;
}

/** A quota that is too high for a test to exhaust. */
export const ample: Quota = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };
