import type { Database } from 'bun:sqlite';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { convertErrors } from './database.ts';

/**
 * Detects that another process has migrated the file. After a migration, this process neither reads nor writes the
 * file, because it does not know the new format.
 */
export class FormatWatch {
  readonly #query;
  readonly #known: bigint;
  readonly #path: string;
  readonly #notice: Notify;
  /** Describes the change and its remedy; undefined while the format is unchanged. */
  trouble: string | undefined;

  constructor(database: Database, notice: Notify) {
    this.#query = database.query<{ user_version: bigint }, []>('PRAGMA user_version');
    this.#path = database.filename;
    this.#notice = notice;
    this.#known = this.#version();
  }

  /**
   * Reads the format, and notifies operators if it has changed. Throws `StorageUnavailable` if the format cannot be
   * read.
   */
  refresh(): void {
    const version = this.#version();
    const isKnown = version === this.#known;
    if (isKnown === (this.trouble === undefined)) return;
    this.trouble = isKnown ? undefined : this.#changedTo(version);
    const text = this.trouble ?? `the format of ${this.#path} is ${this.#known} again`;
    this.#notice(text, { part: `format of ${this.#path}`, works: isKnown, failsRequests: true });
  }

  /** Throws `StorageUnavailable` if the last `refresh` found a changed format. */
  check(): void {
    if (this.trouble !== undefined) throw new StorageUnavailable(this.trouble);
  }

  /** Reads the format. Throws `StorageUnavailable` if the format has changed or cannot be read. */
  verify(): void {
    this.refresh();
    this.check();
  }

  #version(): bigint {
    return convertErrors(this.#path, () => this.#query.get())?.user_version ?? 0n;
  }

  #changedTo(version: bigint): string {
    return (
      `unavailable: another process changed the format of ${this.#path} from ${this.#known} to ${version}, which ` +
      'this version does not support. Stop this process and start the version that changed the format'
    );
  }
}
