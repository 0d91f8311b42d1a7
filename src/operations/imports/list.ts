import type { Import, ImportReport } from '../../contract/admin/imports.ts';
import { ApiError } from '../../contract/api-error.ts';
import { errors } from '../../contract/errors.ts';
import type { Clock } from '../../domain/clock.ts';
import { toIso, toIsoOrNull } from '../presenters.ts';

const maxEnded = 20;
/** Maximum total length of the stored rejected lines, in characters. If exceeded, the oldest reports are dropped. */
const maxRejectCharacters = 16_777_216;

type ImportOrigin = Pick<Import, 'requestId' | 'actor' | 'fileName' | 'format'>;

type Progress = Pick<Import, 'bytes' | 'bytesRead' | 'added' | 'rejected'>;

export class ListedImport {
  readonly id: number;
  readonly #origin: ImportOrigin;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #stop = new AbortController();
  #endedAt: number | null = null;
  #state: Import['state'] = 'receiving';
  #error: string | null = null;
  #progress: () => Progress;
  bytesReceived = 0;
  report: ImportReport | null = null;

  constructor(id: number, about: ImportOrigin, clock: Clock) {
    this.id = id;
    this.#origin = about;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#progress = () => ({ bytes: this.bytesReceived, bytesRead: 0, added: 0, rejected: 0 });
  }

  get view(): Import {
    return {
      id: this.id,
      ...this.#origin,
      state: this.#state,
      startedAt: toIso(this.#startedAt),
      endedAt: toIsoOrNull(this.#endedAt),
      ...this.#progress(),
      error: this.#error,
    };
  }

  get hasEnded(): boolean {
    return this.#endedAt !== null;
  }

  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort();
  }

  run(progress: () => Progress): void {
    this.#state = 'running';
    this.#progress = progress;
  }

  end(report: ImportReport): void {
    this.report = report;
    this.#close(report.state);
  }

  fail(error: unknown, wasStopped: boolean): void {
    const apiError = error instanceof ApiError ? error : new ApiError('internal_error');
    if (!wasStopped) this.#error = apiError.message ?? errors[apiError.code].message;
    this.#close(wasStopped ? 'stopped' : 'failed');
  }

  #close(state: Import['state']): void {
    const last = this.#progress();
    this.#progress = () => last;
    this.#state = state;
    this.#endedAt = this.#clock.now();
  }
}

/** Imports started by operators in this process: those in progress, and those that ended most recently. */
export class ImportList {
  readonly #clock: Clock;
  #listed: ListedImport[] = [];
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(about: ImportOrigin): ListedImport {
    // Based on the time, so that ids are not reused, even after a restart.
    this.#lastId = Math.max(this.#lastId + 1, this.#clock.now());
    const listed = new ListedImport(this.#lastId, about, this.#clock);
    this.#listed.unshift(listed);
    return listed;
  }

  prune(): void {
    const ended = this.#listed.filter(({ hasEnded }) => hasEnded);
    const tooOld = new Set(ended.slice(maxEnded));
    this.#listed = this.#listed.filter((listed) => !tooOld.has(listed));
    let characters = 0;
    for (const listed of ended) {
      characters += listed.report?.rejectsFile.length ?? 0;
      if (characters > maxRejectCharacters) listed.report = null;
    }
  }

  list(): Import[] {
    return this.#listed.map(({ view }) => view);
  }

  /** Throws `import_not_found`. */
  find(id: bigint): ListedImport {
    const found = this.#listed.find((listed) => BigInt(listed.id) === id);
    if (found === undefined) throw new ApiError('import_not_found');
    return found;
  }
}
