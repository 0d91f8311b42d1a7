/** Output of a process that must neither block nor fail because of whatever reads the output. */
import { fstatSync, write } from 'node:fs';
import type { OutputHealth } from '../operations/observability/traffic.ts';

/** Maximum size of the text that waits to be written to a stream. Beyond it, the oldest lines are dropped. */
const maxWaitingBytes = 4_194_304;
/** Writes up to this size are atomic on a pipe (PIPE_BUF), so that the lines of several processes are never mixed. */
const pipeWriteBytes = 4_096;
const fileWriteBytes = 65_536;
/** Interval between attempts to write to a stream that fails. */
const retryMs = 100;
/** A write that takes longer than this is reported as a problem. */
const stalledAfterMs = 5_000;
/** How long lost lines are shown as a current problem. */
const recentLossMs = 60_000;

const slowReaderReason = 'its reader is too slow or has stopped';

type FormatLoss = (lines: number) => string;

interface Chunk {
  readonly bytes: Buffer;
  readonly lines: readonly string[];
  /** Number of lost lines that the chunk reports. */
  readonly reports: number;
}

/** Lines that wait to be written to one stream. */
class Stream {
  readonly fd: number;
  readonly #writeBytes: number;
  readonly #lines: string[] = [];
  #waitingBytes = 0;
  /** The chunk that is being written. */
  #chunk: Chunk | undefined;
  /** The unwritten remainder of a partially written chunk. It is never dropped, so that no line is torn. */
  #rest: Buffer | undefined;
  #unreported = 0;
  /** Time of the first attempt at the write that has not succeeded yet. */
  #startedAt: number | undefined;
  #lostAt = -Infinity;
  #failure: string | undefined;
  #retryAt = -Infinity;
  linesLost = 0;

  constructor(fd: number) {
    this.fd = fd;
    this.#writeBytes = isRegularFile(fd) ? fileWriteBytes : pipeWriteBytes;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#rest === undefined && this.#unreported === 0;
  }

  /** When to write next (`performance.now()`); undefined if nothing is waiting. */
  get dueAt(): number | undefined {
    return this.isEmpty ? undefined : this.#retryAt;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  get trouble(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    const now = performance.now();
    const isStalled = this.#startedAt !== undefined && now - this.#startedAt > stalledAfterMs;
    return isStalled || now - this.#lostAt < recentLossMs ? slowReaderReason : undefined;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#waitingBytes += Buffer.byteLength(line);
    if (this.#waitingBytes > maxWaitingBytes) this.#dropOldest();
  }

  /** Takes the bytes to write next. Lost lines are reported before the first line after them. */
  begin(formatLoss: FormatLoss): Buffer {
    this.#startedAt ??= performance.now();
    this.#chunk = this.#next(formatLoss);
    return this.#chunk.bytes;
  }

  wrote(count: number): void {
    const { bytes, reports } = this.#chunk as Chunk;
    this.#settled(undefined);
    this.#rest = count < bytes.length ? bytes.subarray(count) : undefined;
    this.#unreported -= reports;
  }

  failed({ message, code }: NodeJS.ErrnoException): void {
    const { lines } = this.#chunk as Chunk;
    // The runtime makes pipes non-blocking, so that a full pipe is an error. A pipe can still block, because other
    // processes that share it can change this.
    const isFull = code === 'EAGAIN';
    this.#settled(isFull ? undefined : message, isFull ? this.#startedAt : undefined);
    this.#retryAt = performance.now() + retryMs;
    this.#lines.unshift(...lines);
    for (const line of lines) this.#waitingBytes += Buffer.byteLength(line);
  }

  retryNow(): void {
    this.#retryAt = -Infinity;
  }

  discard(): void {
    this.#settled(undefined);
    this.#lines.length = 0;
    this.#waitingBytes = 0;
    this.#rest = undefined;
    this.#unreported = 0;
  }

  #settled(failure: string | undefined, startedAt?: number): void {
    this.#chunk = undefined;
    this.#startedAt = startedAt;
    this.#failure = failure;
  }

  #next(formatLoss: FormatLoss): Chunk {
    if (this.#rest !== undefined) return { bytes: this.#rest, lines: [], reports: 0 };
    if (this.#unreported > 0) {
      const bytes = Buffer.from(formatLoss(this.#unreported));
      return { bytes, lines: [], reports: this.#unreported };
    }
    let [count, size] = [0, 0];
    for (const line of this.#lines) {
      const bytes = Buffer.byteLength(line);
      if (count > 0 && size + bytes > this.#writeBytes) break;
      size += bytes;
      count++;
    }
    const lines = this.#lines.splice(0, count);
    this.#waitingBytes -= size;
    return { bytes: Buffer.from(lines.join('')), lines, reports: 0 };
  }

  /** Drops a quarter of the lines, because dropping them one by one would be slow and cause a report for each. */
  #dropOldest(): void {
    const dropped = this.#lines.splice(0, Math.ceil(this.#lines.length / 4));
    for (const line of dropped) this.#waitingBytes -= Buffer.byteLength(line);
    this.#unreported += dropped.length;
    this.linesLost += dropped.length;
    this.#lostAt = performance.now();
  }
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

const [standardOutput, standardError] = [1, 2] as const;

/**
 * Standard output and standard error of this process. `write` of a stream that was taken over returns immediately and
 * never fails: the text waits in memory while it cannot be written, for example because a disk is full or a pipe has
 * no reader.
 */
class ProcessOutput implements OutputHealth {
  readonly #output = new Stream(standardOutput);
  readonly #error = new Stream(standardError);
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #flushed: (() => void) | undefined;
  /** Formats the line that reports lost lines. */
  formatLoss: FormatLoss = (lines) => `animal-store: ${lines} lines of output could not be written\n`;

  get linesLost(): number {
    return this.#output.linesLost + this.#error.linesLost;
  }

  get trouble(): string | undefined {
    return this.#error.trouble ?? this.#output.trouble;
  }

  takeOver(...streams: readonly NodeJS.WriteStream[]): void {
    for (const stream of streams) {
      const target = stream === process.stdout ? this.#output : this.#error;
      stream.write = (text: string | Uint8Array, ...others: unknown[]) => {
        target.add(typeof text === 'string' ? text : Buffer.from(text).toString());
        this.#pump();
        const written = others.at(-1);
        if (typeof written === 'function') written();
        return true;
      };
    }
  }

  /**
   * Resolves when all text has been written, a write fails, or the time is up. Returns false if a write is blocked. In
   * that case, the process must be ended with `process.exit`.
   */
  async flush(withinMs?: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushed = resolve;
    this.#output.retryNow();
    this.#error.retryNow();
    this.#pump();
    const timer = withinMs === undefined ? undefined : setTimeout(resolve, withinMs);
    await promise;
    clearTimeout(timer);
    return !this.#isWriting;
  }

  /**
   * Writes one chunk at a time. Each write that blocks occupies a thread of the runtime's pool, which has only two
   * threads on a small machine, and other operations such as syncs need a thread.
   */
  #pump(): void {
    if (this.#isWriting) return;
    clearTimeout(this.#timer);
    const now = performance.now();
    const isDue = ({ dueAt = Infinity }: Stream) => dueAt <= now;
    const stream = [this.#error, this.#output].find(isDue);
    if (stream === undefined) {
      this.#pause();
      return;
    }
    this.#isWriting = true;
    const bytes = stream.begin(this.formatLoss);
    write(stream.fd, bytes, 0, bytes.length, null, (error, count) => {
      this.#isWriting = false;
      if (error === null) stream.wrote(count);
      else if (error.code === 'EPIPE' && stream === this.#output) stream.discard();
      else stream.failed(error);
      this.#pump();
    });
  }

  #pause(): void {
    const waiting = [this.#output, this.#error].filter(({ isEmpty }) => !isEmpty);
    if (waiting.every(({ hasFailed }) => hasFailed)) this.#flushed?.();
    if (waiting.length > 0) this.#timer = setTimeout(() => this.#pump(), retryMs).unref();
  }
}

export const processOutput = new ProcessOutput();
