import { randomBytes as systemRandomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { RandomBytes } from '../domain/key.ts';
import type { Around } from '../http/server.ts';
import type { Send } from '../webhooks/attempt.ts';
import type { Resolve } from '../webhooks/endpoint.ts';

/** What comes from outside the program, so that tests can bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Finds the addresses of the endpoints of webhooks. Defaults to the system's resolver. */
  readonly resolve?: Resolve;
  /** Starts a process that makes or verifies a backup. Defaults to this process, which the work blocks. */
  readonly backupCommand?: readonly string[];
  /** What stands between requests and their answers; a service for a store has nothing there. */
  readonly around?: Around;
  /** What stands between messages to webhooks and their sending; a service for a store has nothing there. */
  readonly aroundSend?: (send: Send) => Send;
}

export const systemRuntime = (backupCommand?: readonly string[]): Runtime => ({
  clock: systemClock(),
  randomBytes: systemRandomBytes,
  ...(backupCommand && { backupCommand }),
});
