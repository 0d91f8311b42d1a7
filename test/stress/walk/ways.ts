import type { ErrorCode } from '../../../src/contract/errors.ts';
import type { Operation } from '../../../src/contract/operation.ts';
import { allOperations, isRepeatable } from '../../../src/contract/operations.ts';
import { excludes } from './lists.ts';
import { replayedAfterExpiry } from './request.ts';

/** Outcomes that a walk has not reached yet. The required outcomes are derived from the operations' definitions. */
export function notMet(answers: ReadonlyMap<string, number>, crossesDays: boolean): string[] {
  return allOperations.flatMap((operation) =>
    [...waysOf(operation), ...(crossesDays ? expiredOf(operation) : [])]
      .map((way) => `${operation.operationId} ${way}`)
      .filter((way) => !answers.has(way)),
  );
}

/** The walk opens no streams, and delivers no events to webhooks. */
const unmet = new Set<ErrorCode>(['too_many_streams', 'event_type_not_selected', 'too_many_deliveries']);

function waysOf(operation: Operation): string[] {
  const { success, errors, preconditions, reads, scope, method } = operation;
  // The walk opens no streams.
  const statuses = success.stream || isOfDelivery(operation) ? [] : Object.keys(success.descriptions);
  return [
    ...statuses,
    ...errors.filter((code) => !unmet.has(code)),
    ...(preconditions ? ['precondition_failed'] : []),
    ...(method === 'GET' && reads.length > 0 ? ['304'] : []),
    ...(scope === undefined ? [] : ['insufficient_scope']),
    ...(isRepeatable(operation) ? statuses.map((status) => `${status} replayed`) : []),
    ...(success.stream || isEmpty(operation) ? [] : filtering(operation)),
    ...(operation.paginated ? foreignCursors(operation) : []),
  ];
}

/** Replays of a response that replaced an expired one. */
function expiredOf(operation: Operation): string[] {
  return isRepeatable(operation) && 201 in operation.success.descriptions ? [replayedAfterExpiry(201)] : [];
}

/** The walk delivers no events to webhooks, so operations on a delivery never succeed. */
function isOfDelivery({ params = {} }: Operation): boolean {
  return 'deliveryId' in params;
}

/** The list of deliveries is always empty in the walk. test/api/webhooks.test.ts tests it. */
function isEmpty({ operationId }: Pick<Operation, 'operationId'>): boolean {
  return operationId === 'listDeliveries';
}

/** Parameters that do not select the contents of a list. */
const how = new Set(['limit', 'cursor', 'wait', 'order']);

function filtersOf({ query }: Operation): string[] {
  return Object.keys(query?.shape ?? {}).filter((name) => !how.has(name));
}

/** Maximum number of combined filters. The tests in test/api combine all filters. */
const mostCombined = 2;

/** Each filter must exclude an object at least once, both alone and when combined with another filter. */
function filtering(operation: Operation): string[] {
  const sets: string[][] = [[]];
  for (const name of filtersOf(operation)) {
    const smaller = sets.filter(({ length }) => length < mostCombined);
    sets.push(...smaller.map((set) => [...set, name]));
  }
  return sets.flatMap((set) => set.map((name) => excludes(name, set)));
}

/** Labels of cursors from lists that differ from this list in exactly one respect. */
function foreignCursors({ operationId, path, ...operation }: Operation): string[] {
  const lists = allOperations.filter((other) => other.paginated && other.operationId !== operationId);
  const others = lists.filter((other) => !isEmpty(other)).map((other) => `cursor of ${other.operationId}`);
  if (isEmpty({ operationId })) return others;
  return [
    ...others,
    ...(path.includes('{') ? ['cursor of another parent'] : []),
    ...filtersOf({ operationId, path, ...operation }).map((name) => `cursor of another ${name}`),
  ];
}
