import { existsSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from './folder.ts';

/** A database server that a test started and may mistreat. Its data outlive its process. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  start(): Promise<void>;
  /** SIGTERM stops in order; SIGKILL is `kill -9`. Resolves when the process is gone. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The server keeps its connections and answers nothing (SIGSTOP), until it is thawed. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** How to run one kind of server. */
export interface ServerKind {
  readonly scheme: string;
  /** Makes the data in the folder, which belongs to the user the server runs as. */
  prepare(folder: string): Promise<void>;
  command(folder: string, port: number): string[];
  answers(url: string): Promise<boolean>;
  /** What of the address follows the port. */
  readonly path: string;
}

const startTimeoutMs = 20_000;
const pollMs = 25;

export async function ownServer(kind: ServerKind): Promise<OwnServer> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const user = serverUser();
  if (user !== undefined) await chown(folder.path, user, user);
  await kind.prepare(folder.path);
  const port = await freePort();
  const server = new ServerProcess(kind, folder.path, port);
  made.use(server);
  await server.start();
  const kept = made.move();
  return Object.assign(server, { [Symbol.asyncDispose]: () => kept.disposeAsync() });
}

class ServerProcess implements OwnServer {
  readonly url: string;
  readonly #kind: ServerKind;
  readonly #command: string[];
  #child: Bun.Subprocess | undefined;
  #frozen: number[] = [];

  constructor(kind: ServerKind, folder: string, port: number) {
    this.#kind = kind;
    this.#command = asServerUser(kind.command(folder, port));
    this.url = `${kind.scheme}127.0.0.1:${port}${kind.path}`;
  }

  async start(): Promise<void> {
    const deadline = performance.now() + startTimeoutMs;
    while (performance.now() < deadline) {
      if (this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) {
        // After kill -9 a server may refuse to start until the last of its old processes is gone.
        this.#child = Bun.spawn(this.#command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
      }
      if (await this.#kind.answers(this.url)) return;
      await sleep(pollMs);
    }
    throw new Error(`${this.#command.join(' ')} does not answer.`);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.thaw();
    // In order means now: PostgreSQL's SIGTERM waits for its clients to leave, its SIGINT does not.
    this.#child?.kill(signal === 'SIGTERM' && this.#kind.scheme.startsWith('postgres') ? 'SIGINT' : signal);
    await this.#child?.exited;
  }

  async freeze(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    // First the parent, so that no child is born while the children are stopped.
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

function childrenOf(parent: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=']);
  const rows = stdout.toString().trim().split('\n');
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  return pairs.filter(([, ppid]) => ppid === parent).map(([pid]) => pid as number);
}

/** A program by its name, also where distributions keep servers outside PATH; undefined when it is not there. */
export function findProgram(name: string): string | undefined {
  const folders = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  const versioned = new Bun.Glob('{usr/lib/postgresql,usr/local/opt,opt/homebrew/opt}/*/bin').scanSync({
    cwd: '/',
    onlyFiles: false,
  });
  for (const folder of versioned) folders.push(join('/', folder));
  return Bun.which(name) ?? folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** PostgreSQL refuses to run as root: then it runs as the user given here. */
export function serverUser(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const { stdout, success } = Bun.spawnSync(['id', '-u', name]);
    if (success) return Number(stdout.toString());
  }
  return undefined;
}

/** The command, run by the user servers run as. */
export function asServerUser(command: string[]): string[] {
  const user = serverUser();
  if (user === undefined) return command;
  return ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...command];
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
