import type { Logging } from '../contract/admin/system.ts';
import type { Awaitable } from '../domain/awaitable.ts';

export type { Logging };

/** What to change of it. */
export type LoggingPatch = { readonly [Name in keyof Logging]?: Logging[Name] | undefined };

/** The log of all processes of this instance. */
export interface LoggingControl {
  readonly current: Logging;
  /** Changes it until the instance is restarted, in every process, and in those that take the place of one. */
  update(patch: LoggingPatch): Awaitable<Logging>;
}
