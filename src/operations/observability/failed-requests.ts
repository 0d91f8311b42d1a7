import { LRUCache } from 'lru-cache';
import type { FailedRequest } from '../../contract/admin/usage.ts';
import { type ErrorCode, errors } from '../../contract/errors.ts';
import type { OperationId } from '../../contract/operations.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import { toIso } from '../presenters.ts';

/**
 * Limits the memory used for failed requests to about 2 MB. Each key has a separate list, so that one key with many
 * failures does not displace the requests of other keys.
 */
const maxKeys = 400;
const maxPerKey = 25;

/** The key id for all requests without a valid key. No key has this id. */
const noKey = 0;

export interface FailedRequestFilter {
  readonly keyId?: number | undefined;
  readonly requestId?: string | undefined;
  readonly limit: number;
}

export interface FailedRequestSource {
  /** Newest first. */
  list(filter: FailedRequestFilter): Awaitable<readonly FailedRequest[]>;
}

interface RecordedRequest {
  readonly at: number;
  readonly operationId: OperationId | undefined;
  readonly code: ErrorCode;
  readonly requestId: string;
  readonly caller: Pick<Caller, 'keyId' | 'accountId'> | undefined;
}

/** The most recent failed requests of a process, in memory. */
export class FailedRequests implements FailedRequestSource {
  readonly #clock: Clock;
  readonly #byKey = new LRUCache<number, RecordedRequest[]>({ max: maxKeys });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(
    code: ErrorCode,
    requestId: string,
    operationId: OperationId | undefined,
    caller: RecordedRequest['caller'],
  ): void {
    const keyId = caller?.keyId ?? noKey;
    const requests = this.#byKey.get(keyId) ?? [];
    this.#byKey.set(keyId, requests);
    if (requests.length >= maxPerKey) requests.shift();
    requests.push({ at: this.#clock.now(), operationId, code, requestId, caller });
  }

  list({ keyId, requestId, limit }: FailedRequestFilter): FailedRequest[] {
    const all = keyId === undefined ? [...this.#byKey.values()].flat() : (this.#byKey.peek(keyId) ?? []);
    const found = all.map(presentRequest);
    return takeNewest(
      requestId === undefined ? found : found.filter((one) => one.requestId === requestId),
      limit,
    );
  }
}

function presentRequest({ at, operationId, code, requestId, caller }: RecordedRequest): FailedRequest {
  return {
    at: toIso(at),
    requestId,
    operation: operationId ?? 'none',
    status: errors[code].status,
    code,
    keyId: caller?.keyId ?? null,
    accountId: caller?.accountId ?? null,
  };
}

export function takeNewest(requests: readonly FailedRequest[], limit: number): FailedRequest[] {
  return requests
    .toSorted((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0))
    .slice(0, limit);
}
