import { uptime as systemUptime } from 'node:os';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** Milliseconds per unit in durations such as `250ms`, `30s`, `15m`, `24h` and `90d`. */
export const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: minuteMs, h: hourMs, d: dayMs };

/** Start of the UTC day that contains a time, in Unix ms. */
export function dayOf(ms: number): number {
  return Math.floor(ms / dayMs) * dayMs;
}

/** Two kinds of time: the date according to the system clock, and the monotonic time that limits use. */
export interface Clock {
  /** Unix ms according to the system clock, which may be stepped. For dates, such as an expiry or a sunset. */
  now(): number;
  /**
   * Monotonic time in milliseconds, for durations (windows, strikes, bans). Starts as Unix ms, never decreases, and
   * ignores steps of the system clock.
   */
  steady(): number;
  /**
   * Whole seconds to add to a monotonic time to show it as a date, as of the last call of `steady`. The value changes
   * only when the system clock is stepped, and is rounded up so that no time is shown too early.
   */
  readonly aheadSeconds: number;
  /** Switches to the clock steps that all processes of a service share. */
  share?(steps: DateSteps): void;
  /** True for a test clock, which also replaces the clocks of database servers. */
  readonly rules?: boolean;
}

/**
 * Steps of the system clock. The processes of a service share them to agree on the monotonic time: the processes' own
 * monotonic clocks differ, but the date minus `aheadMs` is the same for all.
 */
export interface DateSteps {
  readonly count: number;
  /** Offset of the system clock from the monotonic time, in ms. */
  readonly aheadMs: number;
  /** Publishes a step. Returns false if another process has published a step since `count`; that step is then used. */
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
 * Two clocks read in succession differ by less than this. A larger difference means that the system clock was stepped.
 */
const stepMs = 50;
/** Readings further apart than this are repeated, because the process was paused between them. */
const readingMs = 5;
const maxReads = 10;
/** Both clocks return whole milliseconds, so a step of a second may appear slightly longer. */
const roundingMs = 2;
const uptimeErrorMs = 1_500;

export function systemClock(sources: TimeSources = systemSources): Clock {
  return new SystemClock(sources);
}

class OwnSteps implements DateSteps {
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
  #steps: DateSteps = new OwnSteps();
  #followed = 0;
  #baseMs = 0;
  /** Suspended time, computed from `uptime` and the monotonic clock. Only its increase is meaningful. */
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

  share(steps: DateSteps): void {
    this.#steps = steps;
    const { date, monotonic } = this.#readTogether();
    this.#join(monotonic, date);
  }

  /**
   * Handles a step of the system clock, which is ignored, or a suspension of the machine, which counts as elapsed time.
   */
  #follow(): number {
    for (;;) {
      const { date, monotonic } = this.#readTogether();
      if (this.#steps.count !== this.#followed) this.#join(monotonic, date);
      const jumpedMs = date - (this.#baseMs + monotonic) - this.#aheadMs;
      if (Math.abs(jumpedMs) <= stepMs) return Math.floor(this.#baseMs + monotonic);
      const sleptMs = this.#sources.uptime() * 1_000 - monotonic;
      const passedMs = passed(jumpedMs, sleptMs - this.#sleptMs);
      const aheadMs = this.#aheadMs + jumpedMs - passedMs;
      if (!this.#steps.add(this.#followed, aheadMs)) continue;
      this.#followed++;
      if (passedMs > 0) this.#sleptMs = sleptMs;
      this.#baseMs += passedMs;
      this.#setAhead(aheadMs);
    }
  }

  /** Derives the monotonic time from the date and the steps so far. */
  #join(monotonic: number, date: number): void {
    // In this order, so that the next call detects a step that occurs between the two statements.
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

/** The part of a clock change that was time spent suspended. `sleptMs` is accurate to about a second. */
function passed(jumpedMs: number, sleptMs: number): number {
  if (sleptMs < uptimeErrorMs) return 0;
  return Math.abs(jumpedMs - sleptMs) <= uptimeErrorMs ? jumpedMs : sleptMs - uptimeErrorMs;
}
