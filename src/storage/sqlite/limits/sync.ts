import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';
import { type Notice, Outage } from '../../outage.ts';
import { PeriodicTask } from '../../periodic-task.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/** What a power failure may cost of counting. */
const syncEveryMs = 1_000;

const synced = promisify(fdatasync);

/** Brings the mapped file to the disk once a second, beside the thread that answers, and tells when that fails. */
export class LimitSync {
  readonly #file: LimitFile;
  readonly #outage: Outage;
  readonly #isSyncing: boolean;
  readonly #task: PeriodicTask;
  /** What could not be done because the file could not grow. */
  #again: (() => void) | undefined;

  /** `isSyncing`: one of the processes does it for all. */
  constructor(file: LimitFile, notice: Notice, isSyncing: boolean) {
    this.#file = file;
    this.#outage = new Outage('limit storage', notice);
    this.#isSyncing = isSyncing;
    this.#task = new PeriodicTask(syncEveryMs, () => this.run());
  }

  /** Why limit state is not being saved; undefined while it is. */
  get trouble(): string | undefined {
    if (this.#outage.trouble !== undefined) return this.#outage.trouble;
    return this.#file.i32[header.failing] === 1 ? 'the last sync failed' : undefined;
  }

  /** Begins the outage; it ends when `again` works. */
  failed(reason: string, again: () => void): void {
    this.#again = again;
    this.#outage.begin(reason);
  }

  async run(): Promise<void> {
    try {
      this.#again?.();
      this.#again = undefined;
      if (this.#isSyncing) await this.#sync();
      const { loss } = this.#file;
      if (loss !== undefined) throw new Error(loss);
      // The file may have failed to grow during the sync.
      if (this.#again === undefined) this.#outage.end();
    } catch (error) {
      this.#outage.begin((error as Error).message);
    }
  }

  /** Syncs a last time. */
  async close(): Promise<void> {
    await this.#task[Symbol.asyncDispose]();
    await this.run();
  }

  async #sync(): Promise<void> {
    // What is written from here on is the next sync's.
    if (Atomics.exchange(this.#file.i32, header.changed, 0) === 0) return;
    try {
      await synced(this.#file.fd);
      this.#file.i32[header.failing] = 0;
    } catch (error) {
      this.#file.i32[header.failing] = 1;
      // The system may take the pages it failed to write for written; the next sync has to bring them again.
      this.#file.touch();
      this.#file.changed();
      throw error;
    }
  }
}
