/** Sets up the metrics, usage records and log settings of serving processes. */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import type { Clock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import { ProcessLogging } from '../http/logs/request-log.ts';
import { PageCache } from '../http/pipeline/page-cache.ts';
import { type SystemDependencies, SystemOperations } from '../operations/admin/system.ts';
import { listTroubles } from '../operations/observability/concerns.ts';
import { type FailedRequestSource, FailedRequests } from '../operations/observability/failed-requests.ts';
import { createTrafficSource, EventLoopDelay } from '../operations/observability/process-traffic.ts';
import type { OutputHealth, TrafficSource } from '../operations/observability/traffic.ts';
import { TrafficCounter } from '../operations/observability/traffic-counter.ts';
import { UsageRecorder } from '../operations/observability/usage-recorder.ts';
import {
  answerWorkerQuery,
  createFailedRequestSource,
  createLoggingControl,
  type LoggingControl,
  replyTimeoutMs,
  type WorkerQuery,
  WorkerTrafficSource,
} from '../operations/observability/worker-queries.ts';
import type { Store } from '../operations/units.ts';
import type { Supervisor } from '../supervisor/supervisor.ts';
import type { BackgroundTasks } from './background-tasks.ts';

export interface Watch {
  readonly traffic: TrafficSource;
  readonly failedRequests: FailedRequestSource;
  readonly logging: LoggingControl;
  readonly instance: string;
  /** Start time in Unix ms. */
  readonly startedAt: number;
  /** State of this process's output, such as its log, unless `traffic` includes it. */
  readonly output?: OutputHealth | undefined;
}

interface ServiceWatchOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly log: Logger;
  readonly output: OutputHealth | undefined;
  /** Worker number of this process, and the time when the instance started. */
  readonly worker: { readonly number: number; readonly startedAt: number } | undefined;
  readonly tasks: Pick<BackgroundTasks, 'usage' | 'sweeps'>;
  readonly recordEveryMs: number | undefined;
}

interface WatchedServer {
  readonly port: number;
  readonly inFlight: () => number;
  /** Event streams opened by clients. */
  readonly openStreams: () => number;
  /** Number of requests and streams that are waiting for new events. */
  readonly eventListeners: () => number;
}

export class ServiceWatch implements Watch, AsyncDisposable {
  readonly counter: TrafficCounter;
  readonly failedRequests: FailedRequests;
  readonly pageCache = new PageCache();
  readonly logging: ProcessLogging;
  readonly traffic: TrafficSource;
  readonly startedAt: number;
  readonly #options: ServiceWatchOptions;
  readonly #eventLoop = new EventLoopDelay();
  #recorder: UsageRecorder | undefined;
  #port = 0;
  #inFlight = () => 0;
  #openStreams = () => 0;
  #eventListeners = () => 0;

  constructor(options: ServiceWatchOptions) {
    const { config, store, clock, log, output, worker } = options;
    this.#options = options;
    this.counter = new TrafficCounter(clock);
    this.failedRequests = new FailedRequests(clock);
    this.logging = new ProcessLogging(log, config.logRequests, config.logSlowMs);
    this.startedAt = worker?.startedAt ?? clock.now();
    this.traffic = createTrafficSource({
      counter: this.counter,
      eventLoop: this.#eventLoop,
      pageCache: this.pageCache,
      facts: () => store.facts(),
      troubles: () => listTroubles(store),
      inFlight: () => this.#inFlight(),
      openStreams: () => this.#openStreams(),
      eventListeners: () => this.#eventListeners(),
      output,
      // Start time of the process, which may be later than that of the instance.
      startedAt: clock.now(),
    });
  }

  /** Starts recording usage under the name of the instance. */
  begin({ port, inFlight, openStreams, eventListeners }: WatchedServer): void {
    const { config, store, clock, randomBytes, log, worker, tasks, recordEveryMs } = this.#options;
    this.#inFlight = inFlight;
    this.#openStreams = openStreams;
    this.#eventListeners = eventListeners;
    this.#port = port;
    this.#recorder = new UsageRecorder({
      ...{ store, clock, randomBytes, counter: this.counter, recordEveryMs },
      instance: {
        name: this.instance,
        version: packageJson.version,
        startedAt: this.startedAt,
      },
      prunes: worker === undefined || worker.number === 1,
      events: config.events,
      ...{ begin: tasks.usage.begin, beginSweep: tasks.sweeps.begin },
      notice: (message, fields) => log.warn(fields, message),
    });
  }

  get instance(): string {
    return instanceName(this.#options.config, this.#port);
  }

  async recordUsage(): Promise<void> {
    await this.#recorder?.recordAll();
  }

  answer(question: WorkerQuery): Promise<unknown> {
    return answerWorkerQuery(question, this.traffic, this.logging, this.failedRequests);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#eventLoop[Symbol.dispose]();
    await this.#recorder?.[Symbol.asyncDispose]();
  }
}

function instanceName({ instanceName: name }: Config, port: number): string {
  return name ?? `${hostname()}:${port}`;
}

export function watchWorkers(
  supervisor: Supervisor,
  config: Config,
  { log, output, startedAt, port }: Pick<Watch, 'startedAt' | 'output'> & { log: Logger; port: number },
): Watch {
  const ask = (question: WorkerQuery) => supervisor.ask(question, replyTimeoutMs);
  const own = new ProcessLogging(log, config.logRequests, config.logSlowMs);
  const logging = createLoggingControl(own, ask, ({ level, requests }) =>
    supervisor.updateEnvironment({ LOG_LEVEL: level, LOG_REQUESTS: requests }),
  );
  return {
    traffic: new WorkerTrafficSource(ask),
    failedRequests: createFailedRequestSource(ask),
    logging,
    instance: instanceName(config, port),
    startedAt,
    output,
  };
}

export function createSystemOperations(
  { traffic, logging, instance, startedAt, output }: Watch,
  { settings, getPetSunset, events }: Config,
  {
    store,
    clock,
    backups,
    secrets,
    apiUrl,
  }: Pick<SystemDependencies, 'store' | 'clock' | 'backups' | 'secrets' | 'apiUrl'>,
): SystemOperations {
  return new SystemOperations({
    ...{ store, clock, backups, secrets, apiUrl, settings, events },
    ...{ traffic, logging, instance, startedAt, output },
    version: packageJson.version,
    runtime: `Bun ${Bun.version}`,
    sunsets: new Map([['getPet', getPetSunset]]),
  });
}
