import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Port } from '../storage/port.ts';
import type { Listening, Start } from './messages.ts';
import { WorkerProcess } from './worker-process.ts';

/** Pause before a worker that did not come to serve is started again: it doubles with each failure in a row. */
const firstPauseMs = 100;
const longestPauseMs = 30_000;

/** How a worker is found to hang: it answers none of so many questions, each within the time until the next. */
export interface Heartbeat {
  readonly everyMs: number;
  /** Counted, for a machine that stood still gives nobody time to answer. */
  readonly mostMissed: number;
}

/** 20 s in which a worker answers nobody: no request takes its event loop a second. */
const patient: Heartbeat = { everyMs: 5_000, mostMissed: 4 };

export interface SupervisorOptions {
  readonly workers: number;
  /** How the worker with this number, from 1, is started. */
  readonly command: (worker: number) => readonly string[];
  readonly log: Logger;
  /**
   * Connects a worker that begins to the store; what it returns is disposed of when the process has ended, however it
   * did, and before another takes its place.
   */
  readonly connect: (worker: number, store: Port) => Disposable | undefined;
  readonly heartbeat?: Heartbeat;
}

export type Serve = Pick<Start, 'environment' | 'port' | 'startedAt'>;

/**
 * Keeps a number of serving processes going. One that ends is replaced: at once if it served, else after a pause, so
 * that a fault that lasts does not take a core. One that served and hangs is killed, and so replaced.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  /** By number, from 1. */
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #kept: Promise<void>[] = [];
  #serve: Serve | undefined;

  /** Starts the processes, which load the program meanwhile. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
    for (let number = 1; number <= options.workers; number++) this.#spawn(number);
  }

  /**
   * Lets all of them serve, and keeps them serving. Throws the first `WorkerFailed` or `WorkerEnded` if not all of them
   * come to serve.
   */
  async serve(serve: Serve): Promise<Listening> {
    const [first, ...others] = [...this.#workers];
    if (first === undefined) throw new RangeError('There are no workers.');
    this.#serve = serve;
    const firstServing = this.#begin(...first);
    // Any free port: the first one finds it.
    if (serve.port === 0) this.#serve = { ...serve, port: (await firstServing).port };
    const [listening] = await Promise.all([firstServing, ...others.map((other) => this.#begin(...other))]);
    for (const [number, worker] of this.#workers) this.#kept.push(this.#keep(number, worker));
    return listening;
  }

  /** What each of them answers to a question, by its number; nothing of those that do not within the time. */
  async ask(question: unknown, withinMs: number): Promise<ReadonlyMap<number, unknown>> {
    const serving = [...this.#workers].filter(([, { hasServed }]) => hasServed);
    const answers = await Promise.all(
      serving.map(async ([number, worker]) => [number, await worker.ask(question, withinMs)] as const),
    );
    return new Map(answers.filter(([, answer]) => answer !== undefined));
  }

  /** Changes the settings of workers that are started from now on. */
  change(settings: Start['environment']): void {
    if (this.#serve === undefined) throw new Error('Not serving yet.');
    this.#serve = { ...this.#serve, environment: { ...this.#serve.environment, ...settings } };
  }

  /** Lets all of them drain and end; those that do not within the time given, or do not serve yet, are killed. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    const endings = [...this.#workers].map(async ([number, worker]) => {
      if (worker.hasServed) worker.stop();
      else worker.kill();
      const isOver = new AbortController();
      const killed = sleep(withinMs, true, { signal: isOver.signal }).catch(() => false);
      if ((await Promise.race([worker.ended, killed])) === true) {
        this.#options.log.error({ worker: number, pid: worker.pid }, 'worker does not stop; killing it');
        worker.kill();
      }
      isOver.abort();
      const ending = await worker.ended;
      if (ending.code !== 0 && worker.hasServed) {
        this.#options.log.error(
          { worker: number, pid: worker.pid, ...ending },
          'worker did not stop in good order',
        );
      }
    });
    await Promise.all([...endings, ...this.#kept]);
  }

  /** Ends all of them at once: for a start that failed. */
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

  /** Lets a worker serve. */
  #begin(number: number, worker: WorkerProcess): Promise<Listening> {
    if (this.#serve === undefined) throw new Error('Not serving yet.');
    const connection = this.#options.connect(number, worker.store);
    void worker.ended.then(() => connection?.[Symbol.dispose]());
    worker.start({ ...this.#serve, worker: number, workers: this.#options.workers });
    return worker.serving;
  }

  /** Kills a worker that hangs: its share of the connections would wait for ever. Until it ends, or the stop. */
  async #watch(number: number, worker: WorkerProcess): Promise<void> {
    const { log, heartbeat: { everyMs, mostMissed } = patient } = this.#options;
    const ended = new AbortController();
    void worker.ended.then(() => ended.abort());
    const over = AbortSignal.any([this.#stopping.signal, ended.signal]);
    for (let missed = 0; missed < mostMissed; ) {
      // One that does not serve yet may take its time.
      const asked = worker.hasServed ? worker.isThere(everyMs) : true;
      const [isThere, goesOn] = await Promise.all([asked, waited(everyMs, over)]);
      if (!goesOn) return;
      missed = isThere ? 0 : missed + 1;
    }
    log.error({ worker: number, pid: worker.pid }, 'worker does not answer; killing it');
    worker.kill();
  }

  /** Replaces a worker whenever it ends, until the stop. */
  async #keep(number: number, first: WorkerProcess): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    let worker = first;
    for (let failures = 0; ; ) {
      void this.#watch(number, worker);
      const ending = await worker.ended;
      if (signal.aborted) return;
      const reason = worker.hasServed ? undefined : await reasonOf(worker);
      failures = worker.hasServed ? 0 : failures + 1;
      const pauseMs = failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
      log.error(
        { worker: number, pid: worker.pid, ...ending, ...(reason && { reason, retryMs: pauseMs }) },
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

/** Waits; false when that was given up. */
function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}

/** Why a worker never served. */
async function reasonOf(worker: WorkerProcess): Promise<string> {
  return worker.serving.then(
    () => '',
    (error: Error) => error.message,
  );
}
