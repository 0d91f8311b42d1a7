import type { ChangedIds, IdSpan } from '../../domain/changed-ids.ts';
import type { RequiredVersions } from '../../domain/required-versions.ts';
import type { Resource, Versions } from '../../domain/resources.ts';
import type { Runner } from './statements.ts';

/** Number of ids per range in `changed_ranges`. Must match the number in the triggers. */
const rangeIds = 16n;
/** Maximum number of ranges in a span. A longer span is treated as changed. */
const maxRanges = 1_024n;
/** Maximum number of ranges kept in memory. Above this number, every range is treated as changed. */
const maxRemembered = 100_000;

/**
 * Tracks the id ranges that changed after a cached page was read, so that a change invalidates only the pages that may
 * contain it. Triggers store the version of each change with its range, in the same transaction. When a process sees a
 * new version, it reads the ranges that changed since its last read. No change can be missed, because the lock on the
 * row in `counters` serializes the commits that change a resource.
 */
export class PostgresChangedIds implements ChangedIds {
  readonly #ranges: Partial<Record<Resource, ChangedRanges>>;

  /**
   * `versions` returns the versions known to this process. Versions read here are added to `required`, because pages
   * must include every change that this process has seen.
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
    // While Redis is down, versions are negative and every page is read from the database.
    if (ranges === undefined || versions[resource] < 0) return false;
    await ranges.readUpTo(versions[resource]);
    return ranges.isUnchanged(span, mark);
  }
}

interface ChangedRow {
  readonly server: string;
  /** Current version of the resource. */
  readonly current: bigint;
  readonly range: bigint | null;
  readonly version: bigint | null;
}

class ChangedRanges {
  /** Number of completed reads. */
  reads = 0;
  readonly #resource: Resource;
  readonly #runner: Runner;
  readonly #versionNow: () => number;
  readonly #required: RequiredVersions | undefined;
  /** For each range, the number of the last read that found a change in it. */
  readonly #found = new Map<bigint, number>();
  #highest = 0n;
  /** Pages cached before the read with this number are treated as changed. */
  #since = 1;
  /** Highest version in the database as of the last read. */
  #last: bigint | undefined;
  /** Version known to this process as of the last read. */
  #current = -1;
  /** Start time of the server. */
  #server: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(resource: Resource, runner: Runner, versionNow: () => number, required?: RequiredVersions) {
    this.#resource = resource;
    this.#runner = runner;
    this.#versionNow = versionNow;
    this.#required = required;
  }

  /** Reads changed ranges. Concurrent callers share a read, unless it started before a caller's version was known. */
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
    // A different server, such as a promoted standby, may lack changes that cached pages contain.
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

  /**
   * The first read returns only the newest change, because all pages cached before it are treated as changed. If
   * nothing has changed, the query returns one row of NULLs.
   */
  #changed(): Promise<ChangedRow[]> {
    const maxCount = this.#last === undefined ? 1 : maxRemembered;
    return this.#runner.run(
      (sql) => sql`
        SELECT server, current, range, changed.version
        FROM (
          SELECT pg_postmaster_start_time()::text AS server, version AS current
          FROM read_counter(${this.#resource})
        ) AS now LEFT JOIN (
          SELECT range, version FROM changed_ranges WHERE resource = ${this.#resource} AND version > ${this.#last ?? 0n}
          ORDER BY version DESC LIMIT ${maxCount}
        ) AS changed ON true`,
    );
  }
}
