import { randomBytes as systemRandomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import type { Middleware } from '../http/server.ts';
import type { OutputHealth } from '../operations/observability/traffic.ts';
import type { Send } from '../webhooks/attempt.ts';
import type { Resolve } from '../webhooks/endpoint.ts';

/** External dependencies that tests can replace. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /**
   * Resolves the host names of webhook URLs, in the main thread. By default, a separate thread resolves them as the system
   * does, and talks to receivers.
   */
  readonly resolve?: Resolve;
  /**
   * Command that starts a process to make or verify a backup. By default, the backup runs in this process and blocks
   * it.
   */
  readonly backupCommand?: readonly string[];
  /** Whether this process can write its log. By default, this is not observed. */
  readonly output?: OutputHealth;
  /** Interval between usage records, and between removals of old rows, in ms; used only by tests. */
  readonly recordEveryMs?: number;
  /** Interval between checks for due deliveries, in ms; used only by tests. */
  readonly sendEveryMs?: number;
  /** Wraps request handling; used only by the sandbox. */
  readonly middleware?: Middleware;
  /** Wraps the sending of webhooks; used only by the sandbox. */
  readonly aroundSend?: (send: Send) => Send;
}

export const createSystemRuntime = (backupCommand?: readonly string[]): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
  ...(backupCommand && { backupCommand }),
});
