import { ApiError } from '../../contract/api-error.ts';
import type { eventOperations } from '../../contract/events.ts';
import type { OperationInput, Page } from '../../contract/operation.ts';
import type { EventRepresentation } from '../../contract/representations.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Caller } from '../../domain/caller.ts';
import {
  canRead,
  type EventSelector,
  type EventType,
  expandSelectors,
  requiredScope,
} from '../../domain/event-type.ts';
import { scopes as allScopes, type Scope } from '../../domain/scope.ts';
import type { Authenticated } from '../admission/admission.ts';
import { insufficientScopeError } from '../errors.ts';
import {
  canReadAll,
  type EventFeed,
  type EventFilter,
  type PageRequest,
  type WatchCaller,
} from '../events/feed.ts';
import type { EventReader, KeyWatch } from '../events/key-watch.ts';
import type { EventStreams } from '../events/streams.ts';
import type { OperationReaders } from './rows.ts';

export function eventReaders(
  feed: EventFeed,
  streams: EventStreams,
  waits: KeyWatch<EventReader>,
): OperationReaders<typeof eventOperations, [Authenticated]> {
  const guarding =
    (admission: Authenticated): WatchCaller =>
    (eventFilter, onAccessLost) => {
      const reader = {
        isAllowed: (scopes: ReadonlySet<Scope>) => canReadAll(scopes, eventFilter),
        onAccessLost,
      };
      waits.enter(admission, reader);
      return () => waits.leave(admission.caller, reader);
    };
  return {
    listEvents: (_store, { query }, admission) =>
      readFeedPage(feed, query, toEventFilter(query.type ?? [], admission.caller), {
        guard: guarding(admission),
      }),
    streamEvents: (_store, { query: { type = [], after } }, admission) =>
      streams.begin(admission, toEventFilter(type, admission.caller), after),
  };
}

type FeedQuery = OperationInput<typeof eventOperations.listEvents>['query'];

/** Throws the same errors as `EventFeed.page`, and `invalid_parameter` for mutually exclusive parameters. */
export function readFeedPage(
  feed: EventFeed,
  { after, limit, wait, order }: FeedQuery,
  eventFilter: EventFilter,
  waiting: Pick<PageRequest, 'guard' | 'aroundWait'> = {},
): Awaitable<Page<EventRepresentation>> {
  if (order !== 'desc') return feed.page({ after, limit, eventFilter, waitSeconds: wait ?? 0, ...waiting });
  if (after !== undefined || wait !== undefined)
    throw exclusiveParameterError(after === undefined ? 'wait' : 'after');
  return feed.newest(limit, eventFilter);
}

/** Throws `insufficient_scope` if a selector includes events that the key may not read. */
function toEventFilter(
  selectors: readonly EventSelector[],
  { scopes, accountId }: Pick<Caller, 'scopes' | 'accountId'>,
): EventFilter {
  const selected = [...expandSelectors(selectors)];
  if (selectors.length > 0) expectReadable(selected, scopes);
  return { types: new Set(selected.filter((type) => canRead(scopes, type))), accountId };
}

/** Throws `insufficient_scope` unless a key with these scopes may read events of all these types. */
export function expectReadable(types: readonly EventType[], scopes: ReadonlySet<Scope>): void {
  const needed = new Set<Scope>(['events:read', ...types.map(requiredScope)]);
  const missing = allScopes.filter((scope) => needed.has(scope) && !scopes.has(scope));
  if (missing.length === 0) return;
  const hidden = missing.includes('events:read') ? types : types.filter((type) => !canRead(scopes, type));
  throw insufficientScopeError(missing, `to read events of type ${hidden.join(', ')}`);
}

function exclusiveParameterError(name: string): ApiError {
  const message = 'cannot be combined with order=desc';
  return new ApiError('invalid_parameter', {
    message: `The request is invalid: ${name} ${message}.`,
    details: [{ in: 'query', name, message }],
  });
}
