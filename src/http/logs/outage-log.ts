import type { Logger } from 'pino';
import type { FailsRequests, OutageNotice } from '../../domain/outage-notice.ts';
import { ReportedReasons } from '../../domain/reported-reasons.ts';

interface OngoingOutage {
  readonly beganAt: number;
  refused: number;
  /** Time of the last failed request, or of the beginning (`performance.now()`). */
  lastAt: number;
}

interface KnownOutage extends OngoingOutage {
  readonly failsRequests: FailsRequests;
}

interface UnknownOutage extends OngoingOutage {
  readonly firstError: unknown;
  readonly reasons: ReportedReasons;
  readonly timer: NodeJS.Timeout;
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
  readonly #known = new Map<string, KnownOutage>();
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
    else if (outage.works) this.#end(outage.part, text, outage.endedAt);
    else this.#begin(outage, text);
  };

  /** Counts a request that is answered with 503; `fields` identify the request and the reason (`err`). */
  refused(fields: { readonly err: unknown }): void {
    this.#log.debug(fields, 'request refused');
    const causes = [...this.#known.values()].filter((outage) => explains(outage, fields.err));
    for (const outage of causes) {
      outage.refused++;
      outage.lastAt = performance.now();
    }
    if (causes.length === 0) this.#noteUnknown(fields.err);
  }

  [Symbol.dispose](): void {
    this.#endUnknown('stopped while requests failed with 503');
    for (const part of this.#known.keys()) this.#end(part, `stopped before ${part} was available again`);
  }

  #begin({ part, failsRequests = false }: OutageNotice, text: string): void {
    this.#log.warn({ part }, text);
    if (this.#known.has(part)) return;
    // Requests may fail shortly before their cause is known.
    const earlier = this.#unknown;
    const isCause = earlier !== undefined && explains({ failsRequests }, earlier.firstError);
    if (isCause) {
      clearTimeout(earlier.timer);
      this.#unknown = undefined;
    }
    const { beganAt, refused } = isCause ? earlier : { beganAt: performance.now(), refused: 0 };
    this.#known.set(part, { beganAt, failsRequests, refused, lastAt: performance.now() });
  }

  #end(part: string, text: string, endedAt?: number): void {
    const outage = this.#known.get(part);
    this.#known.delete(part);
    this.#log.warn({ part, ...(outage && logFields(outage, endedAt)) }, text);
  }

  #noteUnknown(err: unknown): void {
    this.#unknown ??= this.#beginUnknown(err);
    const unknown = this.#unknown;
    unknown.refused++;
    unknown.lastAt = performance.now();
    unknown.timer.refresh();
    const reason = err instanceof Error ? err.message : undefined;
    if (unknown.reasons.add(String(reason))) this.#log.warn({ reason }, 'requests fail with 503');
  }

  #beginUnknown(firstError: unknown): UnknownOutage {
    const beganAt = performance.now();
    const timer = setTimeout(() => this.#quiet(), this.#quietMs).unref();
    // Soon after failures of another outage, a few such failures may be its consequences.
    const isFirstReported = !this.#failing.some(({ lastAt }) => beganAt - lastAt < this.#quietMs);
    const reasons = new ReportedReasons(isFirstReported);
    return { beganAt, refused: 0, firstError, reasons, lastAt: beganAt, timer };
  }

  /** The outages in which requests may fail. */
  get #failing(): KnownOutage[] {
    return [...this.#known.values()].filter(({ failsRequests }) => failsRequests !== false);
  }

  #quiet(): void {
    try {
      this.#store?.health();
    } catch {
      this.#unknown?.timer.refresh();
      return;
    }
    const others = this.#failing.length > 0 ? ' for other reasons' : '';
    this.#endUnknown(`requests no longer fail with 503${others}`);
  }

  #endUnknown(text: string): void {
    const ended = this.#unknown;
    this.#unknown = undefined;
    if (ended === undefined) return;
    clearTimeout(ended.timer);
    if (ended.reasons.count > 0) this.#log.warn(logFields(ended, ended.lastAt), text);
  }
}

function explains({ failsRequests }: Pick<KnownOutage, 'failsRequests'>, error: unknown): boolean {
  return typeof failsRequests === 'function' ? failsRequests(error) : failsRequests;
}

function logFields({ beganAt, refused }: OngoingOutage, endedAt = performance.now()) {
  return { seconds: Number(((endedAt - beganAt) / 1_000).toFixed(1)), refused };
}
