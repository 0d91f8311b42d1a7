import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';
import { type Notify, Outage } from '../../outages/outage.ts';
import { PeriodicTask } from '../../outages/periodic-task.ts';
import { header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/** Interval between syncs. A power failure may lose the counts since the last sync. */
const syncEveryMs = 1_000;

const synced = promisify(fdatasync);

/** Syncs the mapped file once a second, outside the thread that serves requests, and reports failures. */
export class LimitSync {
  readonly #file: LimitFile;
  readonly #outage: Outage;
  readonly #isSyncing: boolean;
  readonly #onSync: (() => void) | undefined;
  readonly #task: PeriodicTask;
  /** Retries operations that failed because the file could not grow. */
  #again: (() => void) | undefined;

  constructor(file: LimitFile, notice: Notify, isSyncing: boolean, onSync?: () => void) {
    this.#file = file;
    this.#outage = new Outage('limit storage', notice);
    this.#isSyncing = isSyncing;
    this.#onSync = onSync;
    this.#task = new PeriodicTask(syncEveryMs, () => this.run());
  }

  get trouble(): string | undefined {
    if (this.#outage.trouble !== undefined) return this.#outage.trouble;
    return this.#file.i32[header.failing] === 1 ? 'the last sync failed' : undefined;
  }

  /** Begins an outage that ends when `again` succeeds. */
  failed(reason: string, again: () => void): void {
    this.#again = again;
    this.#outage.begin(reason);
  }

  async run(): Promise<void> {
    try {
      this.#again?.();
      this.#again = undefined;
      if (this.#isSyncing) {
        await this.#sync();
        this.#onSync?.();
      }
      const { loss } = this.#file;
      if (loss !== undefined) throw new Error(loss);
      // The file may have failed to grow during the sync.
      if (this.#again === undefined) this.#outage.end();
    } catch (error) {
      this.#outage.begin((error as Error).message);
    }
  }

  async close(): Promise<void> {
    await this.#task[Symbol.asyncDispose]();
    await this.run();
  }

  async #sync(): Promise<void> {
    // Later writes are covered by the next sync.
    if (Atomics.exchange(this.#file.i32, header.changed, 0) === 0) return;
    try {
      await synced(this.#file.fd);
      this.#file.i32[header.failing] = 0;
    } catch (error) {
      this.#file.i32[header.failing] = 1;
      // The system may mark pages as clean although it failed to write them, so the next sync must write all pages.
      this.#file.touch();
      this.#file.changed();
      throw error;
    }
  }
}
