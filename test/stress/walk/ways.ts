import type { Operation } from '../../../src/contract/operation.ts';
import { allOperations, isRepeatable } from '../../../src/contract/operations.ts';
import { excludes } from './lists.ts';

/** The ways of answering that a walk has not met, of all that follow from the rows of the operations. */
export function notMet(answers: ReadonlyMap<string, number>): string[] {
  return allOperations.flatMap((operation) =>
    waysOf(operation)
      .map((way) => `${operation.operationId} ${way}`)
      .filter((way) => !answers.has(way)),
  );
}

function waysOf(operation: Operation): string[] {
  const { success, errors, preconditions, reads, scope, method } = operation;
  // The walk opens no streams.
  const statuses = success.stream || isOfDelivery(operation) ? [] : Object.keys(success.descriptions);
  return [
    ...statuses,
    ...errors.filter((code) => code !== 'too_many_streams'),
    ...(preconditions ? ['precondition_failed'] : []),
    ...(method === 'GET' && reads.length > 0 ? ['304'] : []),
    ...(scope === undefined ? [] : ['insufficient_scope']),
    ...(isRepeatable(operation) ? statuses.map((status) => `${status} replayed`) : []),
    ...(success.stream || isEmpty(operation) ? [] : filtering(operation)),
    ...(operation.paginated ? foreignCursors(operation) : []),
  ];
}

/** Nothing is sent in the walk, so that there is no delivery. */
function isOfDelivery({ params = {} }: Operation): boolean {
  return 'deliveryId' in params;
}

/** Deliveries are made by events, not by requests: test/api/webhooks.test.ts lists them. */
function isEmpty({ operationId }: Pick<Operation, 'operationId'>): boolean {
  return operationId === 'listDeliveries';
}

/** Parameters that affect how a list is read, not its contents. */
const how = new Set(['limit', 'cursor', 'wait', 'order']);

function filtersOf({ query }: Operation): string[] {
  return Object.keys(query?.shape ?? {}).filter((name) => !how.has(name));
}

/** Maximum number of combined filters. test/api combines all. */
const mostCombined = 2;

/** Each filter, alone and in pairs, must exclude an object that the other one admits. */
function filtering(operation: Operation): string[] {
  const sets: string[][] = [[]];
  for (const name of filtersOf(operation)) {
    const smaller = sets.filter(({ length }) => length < mostCombined);
    sets.push(...smaller.map((set) => [...set, name]));
  }
  return sets.flatMap((set) => set.map((name) => excludes(name, set)));
}

/** A cursor that differs from one of the list in one aspect. */
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
