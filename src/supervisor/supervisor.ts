import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { MessagePortLike } from '../storage/storage.ts';
import type { Listening, Start } from './messages.ts';
import { WorkerProcess } from './worker-process.ts';

/** Delay before restarting a worker that failed to start. Doubles with each consecutive failure. */
const firstPauseMs = 100;
const maxPauseMs = 30_000;

/**
 * A worker is considered hung after `maxMissed` consecutive pings that it did not answer before the next ping was due.
 */
export interface Heartbeat {
  readonly everyMs: number;
  /** A count rather than a duration, because no worker can answer while the machine is suspended. */
  readonly maxMissed: number;
}

/** A worker is considered hung after 20 s of silence. No request blocks the event loop for even a second. */
const defaultHeartbeat: Heartbeat = { everyMs: 5_000, maxMissed: 4 };

interface SupervisorOptions {
  readonly workers: number;
  readonly command: (worker: number) => readonly string[];
  readonly log: Logger;
  /**
   * Connects a worker to the store. The connection is disposed after the process has exited and before its replacement
   * starts.
   */
  readonly connect: (worker: number, store: MessagePortLike) => Disposable | undefined;
  readonly heartbeat?: Heartbeat;
}

type Serve = Pick<Start, 'environment' | 'port' | 'startedAt'>;

/**
 * Keeps the given number of serving processes running. A process that exits is replaced: immediately if it was serving,
 * otherwise after a delay, so that a permanent failure does not occupy a CPU core. A hung process is killed and
 * replaced.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #keepTasks: Promise<void>[] = [];
  #serve: Serve | undefined;

  /** Spawns the processes, which load the program and wait for `serve`. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
    for (let number = 1; number <= options.workers; number++) this.#spawn(number);
  }

  /** Throws the first startup error: the one that a worker reports, or `WorkerExitedError`. */
  async serve(serve: Serve): Promise<Listening> {
    const [first, ...others] = [...this.#workers];
    if (first === undefined) throw new RangeError('There are no workers.');
    this.#serve = serve;
    const firstServing = this.#begin(...first);
    // The first worker picks a free port.
    if (serve.port === 0) this.#serve = { ...serve, port: (await firstServing).port };
    const [listening] = await Promise.all([firstServing, ...others.map((other) => this.#begin(...other))]);
    for (const [number, worker] of this.#workers) this.#keepTasks.push(this.#keep(number, worker));
    return listening;
  }

  /**
   * Asks all workers a question. Returns the answers by worker number, omitting workers that do not answer in time.
   */
  async ask(question: unknown, withinMs: number): Promise<ReadonlyMap<number, unknown>> {
    const servingWorkers = [...this.#workers].filter(([, { hasServed }]) => hasServed);
    const answers = await Promise.all(
      servingWorkers.map(async ([number, worker]) => [number, await worker.ask(question, withinMs)] as const),
    );
    return new Map(answers.filter(([, answer]) => answer !== undefined));
  }

  updateEnvironment(settings: Start['environment']): void {
    if (this.#serve === undefined) throw new Error('Not serving yet.');
    this.#serve = { ...this.#serve, environment: { ...this.#serve.environment, ...settings } };
  }

  /** Lets all workers drain and exit. Kills workers that are not serving yet or exceed the time limit. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    const exits = [...this.#workers].map(async ([number, worker]) => {
      if (worker.hasServed) worker.stop();
      else worker.kill();
      const isOver = new AbortController();
      const killed = sleep(withinMs, true, { signal: isOver.signal }).catch(() => false);
      if ((await Promise.race([worker.ended, killed])) === true) {
        this.#options.log.error({ worker: number, pid: worker.pid }, 'worker does not stop; killing it');
        worker.kill();
      }
      isOver.abort();
      const exit = await worker.ended;
      if (exit.code !== 0 && worker.hasServed) {
        this.#options.log.error({ worker: number, pid: worker.pid, ...exit }, 'worker did not stop cleanly');
      }
    });
    await Promise.all([...exits, ...this.#keepTasks]);
  }

  async kill(): Promise<void> {
    this.#stopping.abort();
    for (const worker of this.#workers.values()) worker.kill();
    await Promise.all([...this.#workers.values()].map(({ ended }) => ended));
  }

  #spawn(number: number): WorkerProcess {
    const worker = new WorkerProcess(this.#options.command(number));
    this.#workers.set(number, worker);
    return worker;
  }

  #begin(number: number, worker: WorkerProcess): Promise<Listening> {
    if (this.#serve === undefined) throw new Error('Not serving yet.');
    const connection = this.#options.connect(number, worker.store);
    void worker.ended.then(() => connection?.[Symbol.dispose]());
    worker.start({ ...this.#serve, worker: number, workers: this.#options.workers });
    return worker.listening;
  }

  /**
   * Kills a hung worker, because the connections assigned to it would wait forever. Returns when the worker exits or is
   * stopped.
   */
  async #watch(number: number, worker: WorkerProcess): Promise<void> {
    const { log, heartbeat: { everyMs, maxMissed } = defaultHeartbeat } = this.#options;
    const ended = new AbortController();
    void worker.ended.then(() => ended.abort());
    const over = AbortSignal.any([this.#stopping.signal, ended.signal]);
    for (let missed = 0; missed < maxMissed; ) {
      // A worker that is not serving yet may be busy loading.
      const heartbeatReply = worker.hasServed ? worker.isAlive(everyMs) : true;
      const [isAlive, isRunning] = await Promise.all([
        heartbeatReply,
        sleep(everyMs, true, { signal: over, ref: false }).catch(() => false),
      ]);
      if (!isRunning) return;
      missed = isAlive ? 0 : missed + 1;
    }
    log.error({ worker: number, pid: worker.pid }, 'worker does not respond; killing it');
    worker.kill();
  }

  async #keep(number: number, first: WorkerProcess): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    let worker = first;
    for (let failures = 0; ; ) {
      void this.#watch(number, worker);
      const exit = await worker.ended;
      if (signal.aborted) return;
      const startFailure = worker.listening.then(
        () => undefined,
        (error: Error) => error.message,
      );
      const reason = worker.hasServed ? undefined : await startFailure;
      failures = worker.hasServed ? 0 : failures + 1;
      const pauseMs = failures === 0 ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
      log.error(
        { worker: number, pid: worker.pid, ...exit, ...(reason && { reason, retryMs: pauseMs }) },
        worker.hasServed ? 'worker ended; starting another' : 'worker could not start; trying again',
      );
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      worker = this.#spawn(number);
      const { pid } = worker;
      this.#begin(number, worker).then(
        () => log.info({ worker: number, pid }, 'worker serving'),
        () => undefined,
      );
    }
  }
}
