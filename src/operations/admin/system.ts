import type { Concern, Overview, Setting, System, systemOperations } from '../../contract/admin/system.ts';
import type { OperationId } from '../../contract/operations.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Instance } from '../../tables/usage.ts';
import { ifAvailable } from '../errors.ts';
import { findConcerns, listTroubles } from '../observability/concerns.ts';
import type { Metric } from '../observability/metric.ts';
import { collectMetrics, type DeliveryMetrics, type EventMetrics } from '../observability/metrics.ts';
import { defaultCacheMs, shareReading } from '../observability/share-reading.ts';
import {
  fillSeconds,
  type OutputHealth,
  sumTraffic,
  type Traffic,
  type TrafficSource,
} from '../observability/traffic.ts';
import { stoppedAt } from '../observability/usage-recorder.ts';
import type { LoggingControl } from '../observability/worker-queries.ts';
import { toIso } from '../presenters.ts';
import type { EventRetention } from '../sweeper.ts';
import type { Store } from '../units.ts';
import type { BackupOperations } from './backups.ts';
import type { HandlersOf } from './handlers.ts';

/** How long warnings and bans are cached. They change slowly and are expensive to read. */
const cacheMs = 5_000;

/** A part of the service that may need an operator's attention. */
export interface ConcernSource {
  readonly concern: Concern | undefined;
}

export interface SystemDependencies {
  readonly store: Pick<
    Store,
    'health' | 'facts' | 'instances' | 'limits' | 'pets' | 'usage' | 'events' | 'deliveries'
  >;
  readonly clock: Clock;
  readonly traffic: TrafficSource;
  readonly logging: LoggingControl;
  readonly version: string;
  readonly runtime: string;
  readonly instance: string;
  /** Unix ms. */
  readonly startedAt: number;
  readonly settings: readonly Setting[];
  /** Sunset dates of deprecated operations, in Unix ms. */
  readonly sunsets: ReadonlyMap<OperationId, number>;
  readonly backups: ConcernSource & Pick<BackupOperations, 'metrics'>;
  readonly secrets: ConcernSource;
  readonly events: EventRetention;
  readonly apiUrl: string;
  /** State of this process's output, such as its log, unless `traffic` includes it. */
  readonly output?: OutputHealth | undefined;
}

interface CachedStatus {
  readonly bans: number;
  readonly events: EventMetrics;
  readonly deliveries: DeliveryMetrics;
  readonly concerns: readonly Concern[];
}

export class SystemOperations {
  readonly #dependencies: SystemDependencies;
  readonly #slow: () => Promise<CachedStatus>;
  readonly #traffic: () => Promise<readonly Traffic[]>;
  /** Excludes the settings, so that an operator sees a change immediately. */
  readonly #state: () => Promise<Omit<System, 'settings'>>;
  readonly overview: () => Promise<Overview>;
  readonly metrics: () => Promise<readonly Metric[]>;

  constructor(dependencies: SystemDependencies) {
    this.#dependencies = dependencies;
    const { clock, traffic } = dependencies;
    const cached = <T>(keepMs: number, read: () => Promise<T>) =>
      shareReading(keepMs, () => clock.steady(), read);
    // Tests that set the clock expect current state, so caching is disabled.
    const keepMs = clock.rules ? 0 : defaultCacheMs;
    this.#slow = cached(cacheMs, () => this.#readSlow());
    this.#traffic = cached(keepMs, () => traffic.traffic());
    this.#state = cached(keepMs, () => this.#readState());
    this.overview = cached(keepMs, () => this.#readOverview());
    // Not cached, because programs that compare two scrapes expect each to be current.
    this.metrics = cached(0, () => this.#readMetrics());
  }

  async system(): Promise<System> {
    return { ...(await this.#state()), settings: this.#settings() };
  }

  async #readOverview(): Promise<Overview> {
    const { store, clock, startedAt } = this.#dependencies;
    const { inFlight, seconds } = sumTraffic(await this.#traffic());
    const { bans, concerns } = await this.#slow();
    return {
      seconds: fillSeconds(seconds, Math.floor(startedAt / 1_000), Math.floor(clock.now() / 1_000)),
      inFlight,
      bans,
      inventory: await store.pets.inventory(),
      concerns: [...concerns],
    };
  }

  async #readState(): Promise<Omit<System, 'settings'>> {
    const { store, version, runtime, startedAt } = this.#dependencies;
    const processes = await this.#traffic();
    return {
      version,
      runtime,
      apiUrl: this.#dependencies.apiUrl,
      startedAt: toIso(startedAt),
      workers: processes.length,
      memoryBytes: sumTraffic(processes).memoryBytes,
      troubles: this.#troubles(processes),
      store: await store.facts(),
      instances: (await this.#instances()).map(({ name, version, startedAt, seenAt }) => {
        return { name, version, startedAt: toIso(startedAt), seenAt: toIso(seenAt) };
      }),
    };
  }

  async #readMetrics(): Promise<readonly Metric[]> {
    const { store, traffic, version, runtime, instance, startedAt, backups } = this.#dependencies;
    // Metrics must remain available during an outage, when each part waits until its time-out.
    const [slow, facts, ofBackups, processes] = await Promise.all([
      ifAvailable(() => this.#slow()),
      store.facts(),
      backups.metrics(),
      traffic.traffic(),
    ]);
    return collectMetrics({
      processes,
      facts,
      troubles: this.#troubles(processes),
      bans: slow?.bans,
      events: slow?.events,
      deliveries: slow?.deliveries,
      backups: ofBackups,
      about: { version, runtime, name: instance },
      startedAt,
      output: this.#dependencies.output,
    });
  }

  async #readSlow(): Promise<CachedStatus> {
    const { store, clock, backups, secrets, sunsets, output: own } = this.#dependencies;
    const [events, deliveries] = await Promise.all([this.#events(), this.#deliveries()]);
    const processes = await this.#traffic();
    const { seconds, output } = sumTraffic(processes);
    const known = { store, troubles: this.#troubles(processes), clock, sunsets, ...deliveries, seconds };
    const dependencies = {
      outputTrouble: own?.trouble ?? output.trouble,
      ...{ secrets: secrets.concern, backups: backups.concern },
    };
    const concerns = await findConcerns({ ...known, ...dependencies }, await this.#instances());
    const bans = (await store.limits.bans()).length;
    return { bans, events, deliveries, concerns };
  }

  /** The failures that any process reports. Each notices only the failures of the requests it serves. */
  #troubles(processes: readonly Traffic[]): string[] {
    const found = processes.flatMap(({ troubles }) => troubles);
    return [...new Set([...listTroubles(this.#dependencies.store), ...found])];
  }

  async #deliveries(): Promise<DeliveryMetrics> {
    const { store, clock } = this.#dependencies;
    const { pending, oldestAt } = await store.deliveries.backlog();
    const now = clock.now();
    return { pending, oldestPendingAgeMs: Math.max(0, now - (oldestAt ?? now)) };
  }

  async #events(): Promise<EventMetrics> {
    const { store, clock, events } = this.#dependencies;
    const { oldest, last } = await store.events.bounds();
    const [found] = await store.events.list(oldest - 1n, 1);
    return {
      last: Number(last),
      oldestAgeMs: found && Math.max(0, clock.now() - found.createdAt),
      keepMs: events.areRecorded ? events.keepMs : undefined,
    };
  }

  /** All instances except those that were stopped cleanly. Includes this instance even before its first heartbeat. */
  async #instances(): Promise<Instance[]> {
    const { store, clock, instance: name, version, startedAt } = this.#dependencies;
    const others = (await store.instances.list()).filter(
      (known) => known.name !== name && known.seenAt !== stoppedAt,
    );
    return [{ name, version, startedAt, seenAt: clock.now() }, ...others];
  }

  #settings(): Setting[] {
    const { level, requests } = this.#dependencies.logging.current;
    const now: Readonly<Record<string, string>> = { LOG_LEVEL: level, LOG_REQUESTS: requests };
    return this.#dependencies.settings.map((setting) => {
      const value = now[setting.name] ?? setting.value;
      return value === setting.value ? setting : { ...setting, value, source: 'changed' };
    });
  }
}

interface Services {
  readonly system: SystemOperations;
  readonly logging: LoggingControl;
}

export const systemHandlers: HandlersOf<Services, typeof systemOperations> = {
  getOverview: ({ system }) => system.overview(),
  getSystem: ({ system }) => system.system(),
  getLogging: ({ logging }) => logging.current,
  updateLogging: ({ logging }, { body }) => logging.update(body),
};
