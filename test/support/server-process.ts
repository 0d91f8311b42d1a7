import { existsSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { childrenOf } from './process-tree.ts';
import { until } from './wait.ts';

/** A database server started by a test, which may stop or break it. Its data outlives its process. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  start(): Promise<void>;
  /** SIGTERM shuts down cleanly. SIGKILL is `kill -9`. Resolves when the process has ended. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The server keeps its connections but does not respond (SIGSTOP) until resumed. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** Commands and checks of one kind of server. */
export interface ServerKind {
  readonly scheme: string;
  /** Creates the data in the folder, which belongs to the user of the server. */
  prepare(folder: string): Promise<void>;
  command(folder: string, port: number): string[];
  /** True if the server of this folder responds, provided that this kind of server can be identified. */
  answers(url: string, folder: string): Promise<boolean>;
  /** The part of the address after the port. */
  readonly path: string;
}

/** Random ports below the range that systems assign to clients. If another process takes the port first, another is tried. */
const ports = { from: 10_000, count: 20_000 } as const;

/** If half of the ports were in use, 40 in a row would be in use once in 10^12 runs. */
const mostTries = 40;

/** A port that is probably free. */
export function likelyFreePort(): number {
  return ports.from + Math.floor(Math.random() * ports.count);
}

export async function ownServer(kind: ServerKind): Promise<OwnServer> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const user = serverUser();
  if (user !== undefined) await chown(folder.path, user, user);
  await kind.prepare(folder.path);
  for (let tries = 0; tries < mostTries; tries++) {
    const port = likelyFreePort();
    const server = new ServerProcess(kind, folder.path, port);
    if (!(await server.started())) continue;
    made.use(server);
    const kept = made.move();
    return Object.assign(server, { [Symbol.asyncDispose]: () => kept.disposeAsync() });
  }
  throw new Error(
    `The server ended at each of ${mostTries} starts: ${kind.command(folder.path, 0).join(' ')}`,
  );
}

class ServerProcess implements OwnServer {
  readonly url: string;
  readonly #kind: ServerKind;
  readonly #folder: string;
  readonly #command: string[];
  #child: Bun.Subprocess | undefined;
  #frozen: number[] = [];

  constructor(kind: ServerKind, folder: string, port: number) {
    this.#kind = kind;
    this.#folder = folder;
    this.#command = asServerUser(kind.command(folder, port));
    this.url = `${kind.scheme}127.0.0.1:${port}${kind.path}`;
  }

  async start(): Promise<void> {
    // After kill -9, a server may refuse to start until all of its old processes have ended.
    await until(() => this.started());
  }

  /** Starts the server. False if it ends before it responds, for example because its port is taken. */
  async started(): Promise<boolean> {
    const child = Bun.spawn(this.#command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
    this.#child = child;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await until(async () => hasEnded() || (await this.#kind.answers(this.url, this.#folder)));
    return !hasEnded();
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.thaw();
    // A clean stop must be fast. On SIGTERM, PostgreSQL waits for its clients to disconnect; on SIGINT, it does not.
    this.#child?.kill(signal === 'SIGTERM' && this.#kind.scheme.startsWith('postgres') ? 'SIGINT' : signal);
    await this.#child?.exited;
  }

  async freeze(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // The parent is stopped first, so that it cannot start more children.
    process.kill(pid, 'SIGSTOP');
    this.#frozen = [pid, ...childrenOf(pid)];
    for (const child of this.#frozen) process.kill(child, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    for (const pid of this.#frozen.splice(0)) process.kill(pid, 'SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL');
  }
}

/** Finds a program by name, including folders outside PATH where distributions install servers. */
export function findProgram(name: string): string | undefined {
  const folders = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  const versioned = new Bun.Glob('{usr/lib/postgresql,usr/local/opt,opt/homebrew/opt}/*/bin').scanSync({
    cwd: '/',
    onlyFiles: false,
  });
  for (const folder of versioned) folders.push(join('/', folder));
  return Bun.which(name) ?? folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** PostgreSQL refuses to run as root, so it then runs as this user. */
export function serverUser(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const { stdout, success } = Bun.spawnSync(['id', '-u', name]);
    if (success) return Number(stdout.toString());
  }
  return undefined;
}

/** The command, run as the user of the servers. */
export function asServerUser(command: readonly string[]): string[] {
  const user = serverUser();
  if (user === undefined) return [...command];
  return [
    findProgram('setpriv') ?? 'setpriv',
    `--reuid=${user}`,
    `--regid=${user}`,
    '--clear-groups',
    ...command,
  ];
}
