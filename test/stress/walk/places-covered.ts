import type { Operation } from '../../../src/contract/operation.ts';
import { allOperations, isRepeatable } from '../../../src/contract/operations.ts';

/** What of the operations a walk has not met: ways in which each has to be answered at least once. */
export function notMet(answers: ReadonlyMap<string, number>): string[] {
  return allOperations.flatMap((operation) =>
    waysOf(operation)
      .map((way) => `${operation.operationId} ${way}`)
      .filter((way) => !answers.has(way)),
  );
}

function waysOf(operation: Operation): string[] {
  const { success, errors, preconditions, reads, scope, method } = operation;
  return [
    ...Object.keys(success.descriptions),
    ...errors,
    ...(preconditions ? ['precondition_failed'] : []),
    ...(method === 'GET' && reads.length > 0 ? ['304'] : []),
    ...(scope !== undefined && !/^pets:(?:read|create)$/.test(scope) ? ['insufficient_scope'] : []),
    ...(isRepeatable(operation)
      ? Object.keys(success.descriptions).map((status) => `${status} replayed`)
      : []),
  ];
}
