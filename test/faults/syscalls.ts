/**
 * Injects a fault into one system call of each create request. Every response must be correct, and the file must stay
 * intact.
 */
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, limitFileIn, type Service, startService } from '../support/process.ts';
import { checkStored, storedAnimals } from './stored.ts';
import { countsOf, type Thread, threads, trace, wasInjected } from './strace.ts';

/** Errors that the system calls return. */
const errnos = ['EIO', 'ENOSPC'] as const;

const quiet = { LOG_LEVEL: 'silent', DRAIN_SECONDS: '0' };

/** A system call of a create request: the n-th call with this name in its thread. */
export interface Call {
  readonly thread: Thread;
  readonly name: string;
  readonly nth: number;
}

interface SyscallFaultResult {
  faults: number;
  acknowledged: number;
  refused: number;
  /**
   * Number of 500 responses. SQLite reports an unreadable page (EIO) as corruption, to which the service responds with
   * 500.
   */
  failed: number;
  /** Number of restarts needed before animals could be stored again. */
  restarts: number;
}

/** A service whose store has known contents, and whose system calls can be made to fail. */
class Disturbed implements AsyncDisposable {
  readonly figures: SyscallFaultResult = {
    faults: 0,
    acknowledged: 0,
    refused: 0,
    failed: 0,
    restarts: 0,
  };
  readonly #stack = new AsyncDisposableStack();
  readonly #folder: string;
  readonly #stored = new Map<string, number>();
  readonly #sent = new Set<string>();
  #key: string;
  #service: Service;
  #client: Client;

  private constructor(folder: string, service: Service, key: string) {
    this.#folder = folder;
    this.#service = service;
    this.#key = key;
    this.#client = clientOf(service.url, key);
  }

  static async start(): Promise<Disturbed> {
    await using made = new AsyncDisposableStack();
    const folder = made.use(await temporaryFolder());
    const service = made.use(await startService(folder.path, quiet));
    const disturbed = new Disturbed(folder.path, service, await issueKey(folder.path, 'enterprise', ample));
    // The first request makes additional calls to load callers and limits. Later requests all make the same calls.
    await disturbed.add('warm-up');
    disturbed.#stack.use(made.move());
    return disturbed;
  }

  /** Paths of the store's files. Mapped files (`-shm`) are written without system calls. */
  get files(): string[] {
    const limits = limitFileIn(this.#folder);
    const data = dataFileIn(this.#folder);
    return [data, `${data}-wal`, `${data}-shm`, limits];
  }

  get dataFile(): string {
    return dataFileIn(this.#folder);
  }

  /** Adds an animal and records the response. Throws if the response is unexpected. */
  async add(what: string): Promise<Reply | undefined> {
    const name = `${what} (${this.#sent.size + 1})`;
    this.#sent.add(name);
    const reply = await this.#client.add(name).catch(() => undefined);
    if (reply?.status === 201) {
      this.figures.acknowledged++;
      this.#stored.set(name, (JSON.parse(reply.text) as { id: number }).id);
    } else if (reply?.status === 503) this.#refused(what, reply.text);
    else if (reply?.status === 500 && what.startsWith('pread64:')) this.figures.failed++;
    else throw new Error(`"${name}" got ${reply?.status}: ${reply?.text}`);
    return reply;
  }

  /**
   * An error response after a failed sync must not claim that nothing was stored, because the animal may reappear after
   * a crash.
   */
  #refused(what: string, text: string): void {
    this.figures.refused++;
    if (/^f(data)?sync:/.test(what) && !text.includes('It is unknown whether')) {
      throw new Error(`"${what}" was rejected as if nothing had been stored: ${text}`);
    }
  }

  /**
   * Returns the system calls of a thread during create requests without faults. If `paths` is empty, calls on all files
   * are included.
   */
  async callsOf(thread: Thread, paths: readonly string[], adds = 1): Promise<Call[]> {
    await this.#newCaller(adds > 1);
    await using tracing = await trace(this.#service.pid, { thread, paths });
    for (let number = 1; number <= adds; number++) await this.add('traced');
    return [...countsOf(await tracing.end())].flatMap(([name, count]) =>
      Array.from({ length: count }, (_, index) => ({ thread, name, nth: index + 1 })),
    );
  }

  /** Makes a system call fail, once or permanently, while animals are added. Afterwards, the service must recover. */
  async fail(
    { thread, name, nth }: Call,
    errno: string,
    lasting: boolean,
    paths = this.files,
    adds = 1,
  ): Promise<void> {
    const fault = `${name}:error=${errno}:when=${nth}${lasting ? '+' : ''}`;
    {
      const calls = adds > 1 ? name : 'all';
      await this.#newCaller(adds > 1);
      await using tracing = await trace(this.#service.pid, { thread, paths, inject: fault, calls });
      for (let number = 1; number <= adds; number++) {
        const reply = await this.add(fault);
        if (reply === undefined) throw new Error(`${fault}: no answer.`);
      }
      if (wasInjected(await tracing.end())) this.figures.faults++;
    }
    const healed = await this.add(`after ${fault}`);
    this.#checkLog(fault);
    await this.#checkAsAfterCrash(fault);
    if (healed?.status !== 201) await this.#restartFor(name, fault);
    const list = await this.#client.get('/pets?limit=1');
    if (list.status !== 200) throw new Error(`${fault}: a list returned ${list.status} afterwards.`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /**
   * If the system fails to release a lock, SQLite's connection keeps the lock, and the service returns 503 until it is
   * restarted. This does not occur on local file systems. The service recovers from every other fault.
   */
  async #restartFor(name: string, fault: string): Promise<void> {
    if (name !== 'fcntl') throw new Error(`${fault}: animals are still rejected after the fault.`);
    this.figures.restarts++;
    this.#service.signal('SIGKILL');
    await this.#service.exited;
    await this.#restart();
    if ((await this.add(`restarted after ${fault}`))?.status !== 201) {
      throw new Error(`${fault}: animals are still rejected after a restart.`);
    }
  }

  async #restart(): Promise<void> {
    this.#service = this.#stack.use(await startService(this.#folder, quiet));
    this.#client = clientOf(this.#service.url, this.#key);
  }

  /** Throws if the service logged anything. With logging disabled, it logs only unhandled errors. */
  #checkLog(fault: string): void {
    const text = this.#service.stderr();
    if (text !== '') throw new Error(`${fault}: unhandled error:\n${text}`);
  }

  /** Switches to a new account's key, so that the next request also accesses limits. */
  async #newCaller(isAmple: boolean): Promise<void> {
    this.#key = await (isAmple
      ? issueKey(this.#folder, 'enterprise', ample)
      : issueKey(this.#folder, 'free'));
    this.#client = clientOf(this.#service.url, this.#key);
  }

  /** Checks a copy of the files as a crash would leave them. */
  async #checkAsAfterCrash(fault: string): Promise<void> {
    await using copy = await temporaryFolder();
    for (const ending of ['', '-wal']) {
      const file = `${this.dataFile}${ending}`;
      if (existsSync(file)) copyFileSync(file, join(copy.path, `store.db${ending}`));
    }
    try {
      const acknowledged = [...this.#stored].map(([name, id]) => ({ id, name }));
      checkStored(storedAnimals(dataFileIn(copy.path)), acknowledged, (name) => this.#sent.has(name));
    } catch (error) {
      throw new Error(`${fault}: ${(error as Error).message}`);
    }
  }
}

/** Number of animals that are added one after the other to trigger a WAL checkpoint. */
const addsPerCheckpoint = 400;

interface SyscallOptions {
  /** Tests every n-th call and every sync. */
  readonly every: number;
  readonly checkpoints: boolean;
  readonly progress?: (line: string) => void;
}

/** Injects a fault into each system call of a create request. Throws at the first broken guarantee. */
export async function syscallFaults({
  every,
  checkpoints,
  progress,
}: SyscallOptions): Promise<SyscallFaultResult> {
  await using disturbed = await Disturbed.start();
  const { figures, files, dataFile } = disturbed;
  const some = (calls: readonly Call[]) =>
    calls.filter(({ name }, index) => index % every === 0 || name.endsWith('sync'));
  const tell = (what: string) => progress?.(`${what}: ${figures.faults} faults, ${figures.refused} refused`);

  for (const thread of threads) {
    const onFiles = await disturbed.callsOf(thread, files);
    if (thread === 'writing' && !onFiles.some(({ name }) => name.endsWith('sync'))) {
      throw new Error('A create request was acknowledged without a sync.');
    }
    for (const errno of errnos) {
      for (const call of some(onFiles)) await disturbed.fail(call, errno, false);
      // Excludes locking calls, because SQLite retries them for ten seconds. The loop above makes each fail once.
      for (const call of some(onFiles.filter(({ name }) => name !== 'fcntl'))) {
        await disturbed.fail(call, errno, true);
      }
      tell(`${thread} thread, ${errno}`);
    }
  }
  if (!checkpoints) return figures;

  // Only a checkpoint writes to the data file, and it locks only the WAL's files.
  const onCheckpoint = await disturbed.callsOf('writing', [dataFile], addsPerCheckpoint);
  for (const call of some(onCheckpoint)) {
    for (const errno of errnos) await disturbed.fail(call, errno, false, [dataFile], addsPerCheckpoint);
    tell('checkpoint');
  }
  return figures;
}
