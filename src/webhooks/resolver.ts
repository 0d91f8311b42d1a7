/** Resolves the host names of webhook URLs. Clients choose these names, and thereby the name server and its answers. */
import { dns } from 'bun';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.ts';
import { maxEntries } from '../domain/max-entries.ts';
import type { Resolve } from './endpoint.ts';
import { ThreadTimeBudget } from './thread-time-budget.ts';

/** Maximum number of addresses of a name. All of them are checked, which takes about 10 µs each. */
export const maxResolved = 64;
const timeoutMs = 5_000;
/** How long a name that timed out or has too many addresses is rejected without another lookup. */
const rejectForMs = 60_000;
const maxRejected = 10_000;
/** Maximum number of lookups of an account in flight, and waiting. */
const maxAtOnce = 4;
const maxWaiting = 64;
/** Answers that arrived while the thread was busy are read before a lookup times out. */
const graceMs = 50;

/**
 * Resolves names the way the system does, but with c-ares, which resolves many names concurrently. `getaddrinfo` would
 * occupy a thread of a small pool, so unresponsive name servers would delay other endpoints and file operations.
 */
export const systemResolve: Resolve = async (hostname) => {
  const found = await dns.lookup(hostname, process.platform === 'win32' ? {} : { backend: 'c-ares' });
  // Many machines have IPv6 addresses but no IPv6 connectivity.
  return found.sort((a, b) => a.family - b.family).map(({ address }) => address);
};

/** Resolves a host name on behalf of an account. */
export type ResolveFor = (hostname: string, accountId: number) => ReturnType<Resolve>;

interface BoundedOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly time?: ThreadTimeBudget;
  /** Maximum time for a lookup, and for waiting until it can begin. Defaults to 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Limits the cost of an account's lookups. Rejects after 5 s, or if a name has more than 64 addresses, and then does
 * not look the name up again for a minute. Concurrent lookups of a name share a result. At most four lookups are in
 * flight; others wait, for up to 5 s. Accounts affect each other only through `time`.
 */
export function createBoundedResolver(
  resolve: Resolve,
  { clock, time = new ThreadTimeBudget(), ...options }: BoundedOptions,
): ResolveFor {
  const limitMs = options.timeoutMs ?? timeoutMs;
  const rejections = new LRUCache<string, { readonly until: number; readonly error: Error }>(
    maxEntries(maxRejected),
  );
  const pending = new Map<string, Promise<readonly string[]>>();
  const places = new LookupSlots();
  const requireNoRest = (accountId: number) => {
    const seconds = time.restSeconds(accountId);
    if (seconds > 0)
      throw new Error(`its name server's answers take too long to process; try again in ${seconds} s`);
  };
  const lookUp = async (hostname: string, accountId: number) => {
    requireNoRest(accountId);
    const leave = await places.enter(accountId, limitMs);
    const begin = () => {
      requireNoRest(accountId);
      return resolve(hostname);
    };
    const found = time.duringLookup(accountId, begin).finally(leave);
    const addresses = await withTimeout(
      limitMs,
      found,
      new ResolutionError(`no answer within ${limitMs / 1_000} s`),
    );
    if (addresses.length > maxResolved) throw new ResolutionError(`more than ${maxResolved} addresses`);
    return addresses;
  };
  return async (hostname, accountId) => {
    const name = `${accountId} ${hostname}`;
    const rejection = rejections.get(name);
    if (rejection !== undefined && clock.now() < rejection.until) throw rejection.error;
    const pendingLookup = pending.get(name);
    if (pendingLookup !== undefined) return pendingLookup;
    const found = lookUp(hostname, accountId).finally(() => pending.delete(name));
    pending.set(name, found);
    try {
      return await found;
    } catch (error) {
      if (isLasting(error)) rejections.set(name, { until: clock.now() + rejectForMs, error });
      throw error;
    }
  };
}

/** An error that another lookup would probably repeat, at the same cost. */
class ResolutionError extends Error {}

function isLasting(error: unknown): error is Error {
  return error instanceof ResolutionError || (error as NodeJS.ErrnoException).code === 'DNS_ETIMEOUT';
}

/** Rejects with `error` if a promise is not settled in time (ms). */
async function withTimeout<T>(limitMs: number, promise: Promise<T>, error: Error): Promise<T> {
  const late = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    timer = setTimeout(late.reject, graceMs, error);
  }, limitMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The lookups in flight of each account. */
class LookupSlots {
  readonly #accounts = new Map<number, { taken: number; readonly waiting: Set<() => void> }>();

  /** Waits for a slot. Returns a function that releases it. Rejects if no slot becomes free in time (ms). */
  async enter(accountId: number, limitMs: number): Promise<() => void> {
    const account = this.#accounts.get(accountId) ?? { taken: 0, waiting: new Set() };
    this.#accounts.set(accountId, account);
    const { waiting } = account;
    const leave = () => {
      const [next] = waiting;
      if (next !== undefined) next();
      else if (--account.taken === 0) this.#accounts.delete(accountId);
    };
    if (account.taken < maxAtOnce) {
      account.taken++;
      return leave;
    }
    const busy = new Error('too many other lookups are in progress');
    if (waiting.size >= maxWaiting) throw busy;
    const turn = Promise.withResolvers<void>();
    const begin = () => {
      clearTimeout(timer);
      waiting.delete(begin);
      turn.resolve();
    };
    const timer = setTimeout(() => waiting.delete(begin) && turn.reject(busy), limitMs);
    waiting.add(begin);
    await turn.promise;
    return leave;
  }
}
