/** Failed authentications, counted against their addresses. */
import { peek, type WindowState } from '../../domain/limit.ts';
import { type FailureVerdict, StorageUnavailable } from '../storage.ts';
import type { RedisContext } from './context.ts';

export function countFailure(context: RedisContext, address: string): Promise<FailureVerdict> {
  return context.link.shared(
    async () => (await ask(context, address, 1)) as FailureVerdict,
    async () => fallback(context, address),
  );
}

/** Undefined if callers have changed: nothing is counted. */
export function countFailureUnder(
  context: RedisContext,
  address: string,
  callersVersion: number,
): Promise<FailureVerdict | undefined> {
  const { link, versions } = context;
  return link.shared(
    async () =>
      callersVersion === versions.now.callers ? ask(context, address, 1, versions.redis.callers) : undefined,
    async () => (versions.isFresh(callersVersion) ? fallback(context, address) : undefined),
  );
}

/** What is left, without counting. Never refused itself: it goes into responses that are refused for another reason. */
export async function peekFailures(context: RedisContext, address: string): Promise<WindowState> {
  const { link, localLimits, clock } = context;
  const known = () => localLimits.peek(address, clock.now());
  if (link.trouble !== undefined || link.isBusy) return known();
  try {
    return ((await ask(context, address, 0)) as FailureVerdict).state;
  } catch (error) {
    if (error instanceof StorageUnavailable) return known();
    throw error;
  }
}

function fallback({ localLimits, clock }: RedisContext, address: string): FailureVerdict {
  return localLimits.fail(address, clock.now());
}

async function ask(
  { link, keys, localLimits, clock, rules }: RedisContext,
  address: string,
  count: 0 | 1,
  callersVersion: number | 'any' = 'any',
): Promise<FailureVerdict | undefined> {
  const limit = rules.failuresPerMinute;
  const names = [keys.failures(address), keys.clock, keys.callers];
  const answer = await link.ask('fail', names, [limit, count, callersVersion, ...clock.arguments()]);
  if (!Array.isArray(answer)) return undefined;
  const [nowMs = 0, openedAt = 0, counted = 0, refused = 0] = answer as number[];
  const window = { openedAt, count: counted };
  localLimits.learnAddress(address, window);
  return { state: peek(window, limit, nowMs), refused: refused === 1 };
}
