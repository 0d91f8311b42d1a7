import { uptime as systemUptime } from 'node:os';

/** The two times there are: the date as the system's clock shows it, and the steady time that limits count in. */
export interface Clock {
  /** Unix ms by the system's clock, steps and all: for whatever is agreed on as a date, such as expiry and sunset. */
  now(): number;
  /**
   * Milliseconds that go on evenly whatever is done to the system's clock: for whatever lasts, such as windows,
   * strikes and bans. Starts out as Unix ms and never goes back.
   */
  steady(): number;
  /**
   * Whole seconds to add to an instant of steady time to show it as a date, as of the last call of `steady`. They
   * change only when the system's clock is stepped, and are rounded up, so that no instant is shown too early.
   */
  readonly aheadSeconds: number;
  /** True for a test's clock: it rules also where a server's own clock otherwise would. */
  readonly rules?: boolean;
}

/** What the system's clock is made of; tests bring their own. */
export interface TimeSources {
  /** Unix ms; may be stepped. */
  readonly date: () => number;
  /** Milliseconds since any instant; never stepped, and on most systems it stands still while the machine sleeps. */
  readonly monotonic: () => number;
  /** Whole seconds since the machine started, its sleep included. */
  readonly uptime: () => number;
}

const systemSources: TimeSources = {
  date: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: systemUptime,
};

/** Two clocks read one after the other differ by less than this; more is a step. */
const stepMs = 50;
/** Readings further apart than this are taken again: the process was paused between them. */
const readingMs = 5;
const mostReadings = 10;
/** Both are told in whole milliseconds, so a step of a second may seem to be a little more. */
const roundingMs = 2;
/** How exactly `uptime` tells what it tells. */
const uptimeErrorMs = 1_500;

/** The clock of this system. */
export function systemClock(sources: TimeSources = systemSources): Clock {
  return new SystemClock(sources);
}

class SystemClock implements Clock {
  readonly #sources: TimeSources;
  /** Added to the monotonic clock to get steady time. */
  #baseMs: number;
  /** How long the machine has slept, as `uptime` and the monotonic clock tell it; means something only by its growth. */
  #sleptMs: number;
  #aheadMs = 0;
  aheadSeconds = 0;

  constructor(sources: TimeSources) {
    this.#sources = sources;
    this.#baseMs = sources.date() - sources.monotonic();
    this.#sleptMs = sources.uptime() * 1_000 - sources.monotonic();
  }

  now(): number {
    return this.#sources.date();
  }

  steady(): number {
    const steady = this.#baseMs + this.#sources.monotonic();
    if (Math.abs(this.#sources.date() - steady - this.#aheadMs) > stepMs) return this.#follow();
    return Math.floor(steady);
  }

  /** The system's clock was stepped, or the machine slept: then that time has passed in truth, and counts. */
  #follow(): number {
    const { date, monotonic } = this.#readTogether();
    const jumpedMs = date - (this.#baseMs + monotonic) - this.#aheadMs;
    if (Math.abs(jumpedMs) > stepMs) {
      const sleptMs = this.#sources.uptime() * 1_000 - monotonic;
      const passedMs = passed(jumpedMs, sleptMs - this.#sleptMs);
      if (passedMs > 0) this.#sleptMs = sleptMs;
      this.#baseMs += passedMs;
      this.#aheadMs += jumpedMs - passedMs;
      this.aheadSeconds = Math.ceil((this.#aheadMs - roundingMs) / 1_000) || 0;
    }
    return Math.floor(this.#baseMs + monotonic);
  }

  #readTogether(): { date: number; monotonic: number } {
    for (let reading = 1; ; reading++) {
      const monotonic = this.#sources.monotonic();
      const date = this.#sources.date();
      if (this.#sources.monotonic() - monotonic <= readingMs || reading === mostReadings) {
        return { date, monotonic };
      }
    }
  }
}

/** How much of a jump of the date is time that passed while the machine slept; `sleptMs` is known to a second or so. */
function passed(jumpedMs: number, sleptMs: number): number {
  if (sleptMs < uptimeErrorMs) return 0;
  return Math.abs(jumpedMs - sleptMs) <= uptimeErrorMs ? jumpedMs : sleptMs - uptimeErrorMs;
}
