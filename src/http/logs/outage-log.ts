import type { Logger } from 'pino';

interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
  readonly failsRequests?: boolean;
}

interface OngoingOutage {
  readonly beganAt: number;
  readonly failsRequests: boolean;
  refused: number;
}

interface UnknownOutage {
  readonly outage: OngoingOutage;
  readonly timer: NodeJS.Timeout;
  /** Time of the last failed request (`performance.now()`). */
  lastAt: number;
}

/**
 * An outage of unknown cause (for example, a lock held for a long time or a full queue) is considered over if no
 * request fails for this long while the store is usable. While it is unusable, this proves nothing, because load
 * balancers stop sending requests.
 */
const quietMs = 5_000;

/**
 * Logs when an outage of the store starts and when it ends, with its duration and the number of requests answered with
 * 503. Individual failed requests are logged only at `debug`, because thousands of lines per second with the same cause
 * would fill the disk.
 */
export class OutageLog implements Disposable {
  readonly #log: Logger;
  readonly #quietMs: number;
  readonly #known = new Map<string, OngoingOutage>();
  #unknown: UnknownOutage | undefined;
  #store: { health(): unknown } | undefined;

  constructor(log: Logger, quiet = quietMs) {
    this.#log = log;
    this.#quietMs = quiet;
  }

  /** Must be called once the store is open. `health` throws while the store is unusable. */
  watch(store: { health(): unknown }): void {
    this.#store = store;
  }

  readonly notice = (text: string, outage?: OutageNotice): void => {
    if (outage === undefined) this.#log.warn(text);
    else if (outage.works) this.#end(outage.part, text);
    else this.#begin(outage, text);
  };

  /** Counts a request that is answered with 503; `fields` identify the request and the reason (`err`). */
  refused(fields: { readonly err: unknown }): void {
    this.#log.debug(fields, 'request refused');
    const causes = this.#known
      .values()
      .filter(({ failsRequests }) => failsRequests)
      .toArray();
    for (const outage of causes) outage.refused++;
    if (causes.length > 0) return;
    this.#unknown ??= this.#beginUnknown(fields.err);
    this.#unknown.outage.refused++;
    this.#unknown.lastAt = performance.now();
    this.#unknown.timer.refresh();
  }

  [Symbol.dispose](): void {
    this.#endUnknown('stopped while requests failed with 503');
    for (const part of this.#known.keys()) this.#end(part, `stopped before ${part} was available again`);
  }

  #begin({ part, failsRequests = false }: OutageNotice, text: string): void {
    this.#log.warn({ part }, text);
    if (this.#known.has(part)) return;
    // Requests may fail shortly before their cause is known.
    const earlier = failsRequests ? this.#unknown : undefined;
    if (earlier !== undefined) {
      clearTimeout(earlier.timer);
      this.#unknown = undefined;
    }
    this.#known.set(part, {
      beganAt: earlier?.outage.beganAt ?? performance.now(),
      failsRequests,
      refused: earlier?.outage.refused ?? 0,
    });
  }

  #end(part: string, text: string): void {
    const outage = this.#known.get(part);
    this.#known.delete(part);
    this.#log.warn({ part, ...(outage && logFields(outage)) }, text);
  }

  #beginUnknown(err: unknown) {
    const outage = { beganAt: performance.now(), failsRequests: true, refused: 0 };
    this.#log.warn({ reason: err instanceof Error ? err.message : undefined }, 'requests fail with 503');
    return { outage, lastAt: outage.beganAt, timer: setTimeout(() => this.#quiet(), this.#quietMs).unref() };
  }

  #quiet(): void {
    try {
      this.#store?.health();
    } catch {
      this.#unknown?.timer.refresh();
      return;
    }
    this.#endUnknown('requests no longer fail with 503');
  }

  #endUnknown(text: string): void {
    const ended = this.#unknown;
    this.#unknown = undefined;
    if (ended === undefined) return;
    clearTimeout(ended.timer);
    this.#log.warn(logFields(ended.outage, ended.lastAt), text);
  }
}

function logFields({ beganAt, refused }: OngoingOutage, endedAt = performance.now()) {
  return { seconds: Number(((endedAt - beganAt) / 1_000).toFixed(1)), refused };
}
