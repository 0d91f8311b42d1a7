/** Which faults an operation can have. */
import { errors } from '../contract/errors.ts';
import { errorsOf, type Operation } from '../contract/operations.ts';
import type { Fault } from './fault.ts';
import { changesBody } from './proxy-replies.ts';

export type Code = keyof typeof errors;

/** The code meant by a status without one: the one that a client usually meets. */
const usualCodes: ReadonlySet<Code> = new Set(['invalid_api_key', 'invalid_body', 'rate_limit_exceeded']);

/** The code that an operation responds with for a fault; undefined for a fault without one, and where it never does. */
export function codeOf(operation: Operation, { code, status }: Fault): Code | undefined {
  const possible = errorsOf(operation).filter((one) =>
    code === undefined ? errors[one].status === status : one === code,
  );
  return possible.find((one) => usualCodes.has(one)) ?? possible[0];
}

/** Why a fault can never happen to an operation; undefined if it can. */
export function impossibilityOf(operation: Operation, fault: Fault): string | undefined {
  const { operationId, success } = operation;
  if (fault.status !== undefined && codeOf(operation, fault) === undefined) {
    const possible = errorsOf(operation).map((one) => `${errors[one].status} ${one}`);
    return `${operationId} never responds with ${fault.code ?? fault.status}. Its errors are ${possible.join(', ')}.`;
  }
  const needsBody = fault.slowBodyMs !== undefined || (fault.reply !== undefined && changesBody(fault.reply));
  if (needsBody && success.schema === undefined)
    return `The success of ${operationId} has no body to change.`;
  return undefined;
}
