/** Counts failed authentications by client address. */

import type { Awaitable } from '../../domain/awaitable.ts';
import { maxStaleMs } from '../../domain/shared-versions.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import { minuteSeconds, type WindowState, windowState } from '../limit.ts';
import type { FailureVerdict } from '../limit-store.ts';
import type { RedisContext } from './context.ts';
import { maxAttempts } from './reconciliation.ts';

/**
 * A known refusal is returned immediately: while a request waits for Redis, the runtime parses its body, which takes
 * milliseconds in small chunks.
 */
export function countFailure(context: RedisContext, address: string): Awaitable<FailureVerdict> {
  const shard = context.servers.shardForAddress(address);
  const refusal = context.localLimits.refusal(address, shard.clock.steady());
  if (refusal !== undefined) return refusal;
  return shard.withFallback(
    async () => (await ask(context, address, 1)) as FailureVerdict,
    async () => fallback(context, address),
  );
}

/**
 * Counts a failed authentication. If the version of `callers` has changed, counts nothing and returns undefined. Always
 * asks Redis, because only Redis knows whether another instance has just created the key.
 */
export function countFailureAtVersion(
  context: RedisContext,
  address: string,
  callersVersion: number,
): Promise<FailureVerdict | undefined> {
  const { servers, versions } = context;
  const shard = servers.shardForAddress(address);
  return shard.withFallback(
    async () => {
      for (let tries = 0; tries < maxAttempts && callersVersion === versions.now.callers; tries++) {
        const counted = await ask(context, address, 1, shard.lastReported.callers);
        if (counted !== undefined) return counted;
        // Another shard may already have received the change.
        await shard.exchangeVersions(versions);
      }
      return undefined;
    },
    async () => (versions.isFresh(callersVersion) ? fallback(context, address) : undefined),
  );
}

/**
 * Returns the address's window without counting anything. The promise never rejects, because the request has already
 * failed for another reason.
 */
export async function peekFailures(context: RedisContext, address: string): Promise<WindowState> {
  const { servers, localLimits } = context;
  const { link, clock } = servers.shardForAddress(address);
  const known = () => localLimits.peek(address, clock.now());
  if (link.trouble !== undefined || link.isBusy) return known();
  try {
    return ((await ask(context, address, 0)) as FailureVerdict).state;
  } catch (error) {
    if (error instanceof StorageUnavailable) return known();
    throw error;
  }
}

function fallback({ servers, localLimits }: RedisContext, address: string): FailureVerdict {
  return localLimits.fail(address, servers.shardForAddress(address).clock.now());
}

async function ask(
  { servers, localLimits, rules }: RedisContext,
  address: string,
  count: 0 | 1,
  callersVersion: number | 'any' = 'any',
): Promise<FailureVerdict | undefined> {
  const { link, keys, clock } = servers.shardForAddress(address);
  const limit = rules.failuresPerMinute;
  const names = [keys.failures(address), keys.clock, keys.callers];
  const askedMs = clock.steady();
  const reply = await link.ask('fail', names, [limit, count, callersVersion, ...clock.arguments()]);
  if (!Array.isArray(reply)) return undefined;
  const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = reply as number[];
  const window = { openedAt, count: counted };
  localLimits.learnAddress(address, window);
  if (refused === 1) {
    // Measured from before the call, so that the refusal does not outlast the window.
    const untilMs = askedMs + Math.min(maxStaleMs, (openedAt + minuteSeconds) * 1_000 - nowMs);
    localLimits.learnRefusal(address, { window, aheadMs: nowMs - clock.steady(), untilMs });
  }
  return { state: windowState(window, limit, nowMs), refused: refused === 1 };
}
