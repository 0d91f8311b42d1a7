import type { ChangedIds, IdSpan } from '../../domain/changed-ids.ts';
import type { Resource, Versions } from '../../domain/resources.ts';
import type { RequiredVersions } from '../required-versions.ts';
import type { Runner } from './statements.ts';

/** Ids in one range of `changed_ranges`, as its triggers divide them. */
const rangeIds = 16n;
/** Maximum number of ranges in one span. A longer one counts as changed. */
const maxRanges = 1_024n;
/** Maximum number of remembered ranges. Beyond it, all count as changed. */
const maxRemembered = 100_000;

/**
 * The ranges of ids that have changed since a cached page was read, so that a change discards only the pages that could
 * show it. Triggers store the version of a change with its range, in the same transaction. A process that learns of a
 * new version reads the ranges with newer versions: `counters` orders the commits of a resource, so that it misses
 * none.
 */
export class PostgresChangedIds implements ChangedIds {
  readonly #ranges: Partial<Record<Resource, ChangedRanges>>;

  /**
   * `versions` returns those that this process knows. Pages have to show every change that is known here: it is
   * `required`.
   */
  constructor(runner: Runner, versions: () => Versions, required?: RequiredVersions) {
    const rangesOf = (resource: Resource) =>
      new ChangedRanges(resource, runner, () => versions()[resource], required);
    this.#ranges = { pets: rangesOf('pets'), orders: rangesOf('orders') };
  }

  mark(resource: Resource): number {
    return this.#ranges[resource]?.reads ?? 0;
  }

  async isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean> {
    const ranges = this.#ranges[resource];
    // While Redis is down, versions are negative, and everything is read from the database.
    if (ranges === undefined || versions[resource] < 0) return false;
    await ranges.readUpTo(versions[resource]);
    return ranges.isUnchanged(span, mark);
  }
}

interface ChangedRow {
  readonly server: string;
  /** The version of the resource. */
  readonly current: bigint;
  readonly range: bigint | null;
  readonly version: bigint | null;
}

class ChangedRanges {
  /** Number of finished reads. */
  reads = 0;
  readonly #resource: Resource;
  readonly #runner: Runner;
  readonly #versionNow: () => number;
  readonly #required: RequiredVersions | undefined;
  /** The last read that found a range changed. */
  readonly #found = new Map<bigint, number>();
  #highest = 0n;
  /** Data that was read before this read counts as changed. */
  #since = 1;
  /** The highest version in the database, and the version of this process, as of the last read. */
  #last: bigint | undefined;
  #current = -1;
  /** When the server was started. */
  #server: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(resource: Resource, runner: Runner, versionNow: () => number, required?: RequiredVersions) {
    this.#resource = resource;
    this.#runner = runner;
    this.#versionNow = versionNow;
    this.#required = required;
  }

  /** Concurrent callers share a read, unless it began before a caller's version was known. */
  async readUpTo(version: number): Promise<void> {
    while (this.#current < version) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
  }

  isUnchanged({ from, to }: IdSpan, mark: number): boolean {
    const first = from / rangeIds;
    const last = to === undefined ? this.#highest : to / rangeIds;
    if (mark < this.#since || last - first >= maxRanges) return false;
    for (let range = first; range <= last; range++) {
      if ((this.#found.get(range) ?? 0) > mark) return false;
    }
    return true;
  }

  async #read(): Promise<void> {
    const current = this.#versionNow();
    const rows = await this.#changed();
    this.reads++;
    const [first] = rows;
    this.#required?.raise(this.#resource, Number(first?.current ?? 0));
    // Another server, such as a promoted standby, may lack changes that pages show.
    const isOther = first?.server !== this.#server || (first?.current ?? 0n) < (this.#last ?? 0n);
    this.#server = first?.server;
    for (const { range, version } of rows) {
      if (range === null || version === null) continue;
      this.#found.set(range, this.reads);
      if (range > this.#highest) this.#highest = range;
      if (version > (this.#last ?? 0n)) this.#last = version;
    }
    if (isOther) this.#last = first?.current;
    this.#last ??= 0n;
    if (isOther || rows.length === maxRemembered || this.#found.size > maxRemembered) {
      this.#found.clear();
      this.#since = this.reads;
    }
    this.#current = current;
  }

  /** The first read finds only the newest change: all data was read before it. Without a change, there is one row of NULLs. */
  #changed(): Promise<ChangedRow[]> {
    const maxCount = this.#last === undefined ? 1 : maxRemembered;
    return this.#runner.run(
      (sql) => sql`
        SELECT server, current, range, changed.version
        FROM (
          SELECT pg_postmaster_start_time()::text AS server, version AS current
          FROM counters WHERE name = ${this.#resource}
        ) AS now LEFT JOIN (
          SELECT range, version FROM changed_ranges WHERE resource = ${this.#resource} AND version > ${this.#last ?? 0n}
          ORDER BY version DESC LIMIT ${maxCount}
        ) AS changed ON true`,
    );
  }
}
