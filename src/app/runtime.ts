import { randomBytes as systemRandomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import type { Middleware } from '../http/server.ts';
import type { Send } from '../webhooks/attempt.ts';
import type { Resolve } from '../webhooks/endpoint.ts';

/** External dependencies, replaceable by tests. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Resolves the host names of webhook endpoints. Defaults to the system's resolver. */
  readonly resolve?: Resolve;
  /**
   * Command of a process that makes or verifies a backup. By default, this process does so, which blocks it.
   */
  readonly backupCommand?: readonly string[];
  /** Wrapper around requests; used only by the sandbox. */
  readonly middleware?: Middleware;
  /** Wrapper around sending webhooks; used only by the sandbox. */
  readonly aroundSend?: (send: Send) => Send;
}

export const systemRuntime = (backupCommand?: readonly string[]): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
  ...(backupCommand && { backupCommand }),
});
