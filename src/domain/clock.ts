import { uptime as systemUptime } from 'node:os';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** Milliseconds per unit in durations such as `250ms`, `30s`, `15m`, `24h` and `90d`. */
export const msPerUnit: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};

/** The latest time in RFC 3339, whose years have four digits, in Unix ms. */
export const latestTime = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Limit windows of an account whose starts differ by less than this fraction of their length are the same window. Its start
 * moves when Redis' clock is stepped.
 */
export const maxStartShift = 1 / 12;

/** Start of the UTC day that contains a time, in Unix ms. */
export function startOfDay(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

/** The system clock, and a monotonic clock for rate limits. */
export interface Clock {
  /** Unix ms according to the system clock, which may be stepped. For dates, such as expiry and sunset dates. */
  now(): number;
  /**
   * Monotonic time in milliseconds, for durations (windows, strikes, bans). Starts as Unix ms, never decreases, and
   * ignores steps of the system clock.
   */
  steady(): number;
  /**
   * Number of whole seconds to add to a monotonic time to convert it to Unix time, as of the last call to `steady`. The
   * value changes only when the system clock is stepped, and is rounded up so that no time is shown too early.
   */
  readonly aheadSeconds: number;
  /**
   * Monotonic time (Unix ms) on which all processes of a store agree, for the ages of stored rows. Steps of the clock
   * that determines `now` have no effect while a process runs.
   */
  storeTime(): number;
  /** Switches to the clock steps shared by all processes of a service. */
  share?(steps: ClockSteps): void;
  /** True for a test clock, which also replaces the clocks of database servers. */
  readonly rules?: boolean;
}

/** Converts a time from `storeTime` to a date, in Unix ms. Steps are rounded to seconds, so that the date stays the same. */
export function toSystemTime(clock: Pick<Clock, 'now' | 'storeTime'>, storeTime: number): number {
  return storeTime + Math.round((clock.now() - clock.storeTime()) / 1_000) * 1_000;
}

/**
 * Steps of the system clock. All processes of a service share them, so that they agree on the monotonic time: the
 * system time minus `aheadMs`.
 */
export interface ClockSteps {
  readonly count: number;
  /** Offset of the system clock from the monotonic time, in ms. */
  readonly aheadMs: number;
  /**
   * Publishes a step. Returns false if another process has published a step since step number `count`; the other step
   * is used instead.
   */
  add(count: number, aheadMs: number): boolean;
}

interface TimeSources {
  /** Unix ms according to the system clock, which may be stepped. */
  readonly date: () => number;
  /**
   * Milliseconds since an arbitrary instant. Never stepped; on most systems, excludes time that the machine was
   * suspended.
   */
  readonly monotonic: () => number;
  /** Whole seconds since the machine started, including time that it was suspended. */
  readonly uptime: () => number;
}

const systemSources: TimeSources = {
  date: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: systemUptime,
};

/**
 * Maximum difference between the system time and the monotonic time plus `aheadMs`. A larger difference means that the
 * system clock was stepped or the machine was suspended.
 */
const stepMs = 50;
/**
 * If the two clocks are read further apart than this, both are read again, because the process was paused in between.
 */
const readingMs = 5;
const maxReads = 10;
/** Both clocks return whole milliseconds, so a step of one second may appear slightly larger. */
const roundingMs = 2;
const uptimeErrorMs = 1_500;

export function systemClock(sources: TimeSources = systemSources): Clock {
  return new SystemClock(sources);
}

class LocalClockSteps implements ClockSteps {
  count = 0;
  aheadMs = 0;

  add(count: number, aheadMs: number): boolean {
    this.count = count + 1;
    this.aheadMs = aheadMs;
    return true;
  }
}

class SystemClock implements Clock {
  readonly #sources: TimeSources;
  #steps: ClockSteps = new LocalClockSteps();
  #followed = 0;
  #baseMs = 0;
  /**
   * Suspended time, computed from `uptime` and the monotonic clock. The initial value is arbitrary; only increases
   * matter.
   */
  #sleptMs = 0;
  #aheadMs = 0;
  aheadSeconds = 0;

  constructor(sources: TimeSources) {
    this.#sources = sources;
    this.#join(sources.monotonic(), sources.date());
  }

  now(): number {
    return this.#sources.date();
  }

  steady(): number {
    const steady = this.#baseMs + this.#sources.monotonic();
    const isStepped = Math.abs(this.#sources.date() - steady - this.#aheadMs) > stepMs;
    if (isStepped || this.#steps.count !== this.#followed) return this.#follow();
    return Math.floor(steady);
  }

  storeTime(): number {
    return this.steady();
  }

  share(steps: ClockSteps): void {
    this.#steps = steps;
    const { date, monotonic } = this.#readTogether();
    this.#join(monotonic, date);
  }

  /** Adds the time that the machine was suspended to the monotonic time, but not a step of the system clock. */
  #follow(): number {
    for (;;) {
      const { date, monotonic } = this.#readTogether();
      if (this.#steps.count !== this.#followed) this.#join(monotonic, date);
      const jumpedMs = date - (this.#baseMs + monotonic) - this.#aheadMs;
      if (Math.abs(jumpedMs) <= stepMs) return Math.floor(this.#baseMs + monotonic);
      const sleptMs = this.#sources.uptime() * 1_000 - monotonic;
      const passedMs = suspendedMs(jumpedMs, sleptMs - this.#sleptMs);
      const aheadMs = this.#aheadMs + jumpedMs - passedMs;
      if (!this.#steps.add(this.#followed, aheadMs)) continue;
      this.#followed++;
      if (passedMs > 0) this.#sleptMs = sleptMs;
      this.#baseMs += passedMs;
      this.#setAhead(aheadMs);
    }
  }

  /** Derives the monotonic time from the system time and the steps so far. */
  #join(monotonic: number, date: number): void {
    // The count is read first, so that the next call detects a step that occurs between these two statements.
    this.#followed = this.#steps.count;
    this.#setAhead(this.#steps.aheadMs);
    this.#baseMs = date - this.#aheadMs - monotonic;
    this.#sleptMs = this.#sources.uptime() * 1_000 - monotonic;
  }

  #setAhead(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.aheadSeconds = Math.ceil((aheadMs - roundingMs) / 1_000) || 0;
  }

  #readTogether(): { date: number; monotonic: number } {
    for (let reading = 1; ; reading++) {
      const monotonic = this.#sources.monotonic();
      const date = this.#sources.date();
      if (this.#sources.monotonic() - monotonic <= readingMs || reading === maxReads) {
        return { date, monotonic };
      }
    }
  }
}

/** The part of a clock change that is due to a suspension of the machine. `sleptMs` is accurate to about a second. */
function suspendedMs(jumpedMs: number, sleptMs: number): number {
  if (sleptMs < uptimeErrorMs) return 0;
  return Math.abs(jumpedMs - sleptMs) <= uptimeErrorMs ? jumpedMs : sleptMs - uptimeErrorMs;
}
