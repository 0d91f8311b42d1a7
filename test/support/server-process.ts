import { existsSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { childrenOf } from './process-tree.ts';
import { until } from './wait.ts';

/** A database server that a test can stop or break. The server's data outlives the server process. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  start(): Promise<void>;
  /** Stops the server: SIGTERM shuts down cleanly, SIGKILL is `kill -9`. Resolves when the process has exited. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Suspends the server (SIGSTOP). It keeps its connections but does not respond until `thaw` is called. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** Commands and checks for one kind of server. */
export interface ServerKind {
  readonly scheme: string;
  /** Creates the data in the folder, which is owned by the user that runs the server. */
  prepare(folder: string): Promise<void>;
  command(folder: string, port: number): string[];
  /** True if the server whose data is in this folder responds at the URL. */
  answers(url: string, folder: string): Promise<boolean>;
  /** The part of the URL after the port. */
  readonly path: string;
  /** Whether the server is started again if it exits unexpectedly, as a service manager does. */
  readonly isRestarted?: boolean;
}

/** Random ports below the ephemeral port range. If another process takes a port first, another port is tried. */
const ports = { from: 10_000, count: 20_000 } as const;

/** Even if half of the ports were in use, 40 tries would fail only once in 10^12 runs. */
const mostTries = 40;

/** Returns a port that is probably free. */
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
    `The server exited after each of ${mostTries} starts: ${kind.command(folder.path, 0).join(' ')}`,
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
    // After kill -9, a server may refuse to start until all its old processes have exited.
    await until(() => this.started());
  }

  /**
   * Starts the server. Resolves with false if the server exits before it responds, for example because the port is
   * taken.
   */
  async started(): Promise<boolean> {
    const child = Bun.spawn(this.#command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
    this.#child = child;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await until(async () => hasEnded() || (await this.#kind.answers(this.url, this.#folder)));
    if (hasEnded()) return false;
    if (this.#kind.isRestarted) void child.exited.then(() => this.#restart(child));
    return true;
  }

  async #restart(exited: Bun.Subprocess): Promise<void> {
    if (this.#child === exited) await this.started();
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.thaw();
    const child = this.#child;
    this.#child = undefined;
    // PostgreSQL gets SIGINT for a clean shutdown, because on SIGTERM it waits for its clients to disconnect.
    child?.kill(signal === 'SIGTERM' && this.#kind.scheme.startsWith('postgres') ? 'SIGINT' : signal);
    await child?.exited;
  }

  async freeze(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // The parent process is suspended first, so that it cannot start more child processes.
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

/** Finds a program by name in PATH, and in other folders where distributions install servers. */
export function findProgram(name: string): string | undefined {
  const folders = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  const versioned = new Bun.Glob('{usr/lib/postgresql,usr/local/opt,opt/homebrew/opt}/*/bin').scanSync({
    cwd: '/',
    onlyFiles: false,
  });
  for (const folder of versioned) folders.push(join('/', folder));
  return Bun.which(name) ?? folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Id of the user that runs servers if the tests run as root, because PostgreSQL refuses to run as root. */
export function serverUser(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const { stdout, success } = Bun.spawnSync(['id', '-u', name]);
    if (success) return Number(stdout.toString());
  }
  return undefined;
}

/** The command, wrapped so that it runs as the servers' user. */
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
