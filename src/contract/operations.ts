/** Operations of the public API, from which routes, input parsing, OpenAPI, caching and tests are derived. */
import { categoryOperations } from './categories.ts';
import type { ErrorCode } from './errors.ts';
import { eventOperations } from './events.ts';
import { isRead, type Operation, type OperationInput } from './operation.ts';
import { orderOperations } from './orders.ts';
import { petOperations } from './pets.ts';
import { rateLimitOperations } from './rate-limit.ts';
import { webhookOperations } from './webhooks.ts';

/** The path contains the major version (specification, section 9). */
export const basePath = '/v1';

export const sharedOperations = { ...petOperations, ...categoryOperations, ...orderOperations } as const;

export const operations = {
  ...sharedOperations,
  ...eventOperations,
  ...rateLimitOperations,
  ...webhookOperations,
} as const satisfies Readonly<Record<string, Operation>>;

type Operations = typeof operations;

export type OperationId = keyof Operations;

export const allOperations: readonly (Operation & { readonly operationId: OperationId })[] =
  Object.values(operations);

export type ClientInput<Id extends OperationId> = OperationInput<Operations[Id]>;

export const commonErrors = [
  'invalid_parameter',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'api_key_banned',
  'too_many_failed_authentications',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

const limitErrors: ReadonlySet<ErrorCode> = new Set([
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'api_key_banned',
]);

/**
 * Returns all possible errors of an operation: those it declares, those implied by its definition, and those common to
 * all operations.
 */
export function possibleErrors(operation: Operation): ErrorCode[] {
  const { body, scope, paginated, preconditions, deprecation, errors: own, free } = operation;
  const common: readonly ErrorCode[] = free
    ? commonErrors.filter((code) => !limitErrors.has(code))
    : commonErrors;
  return [
    ...new Set<ErrorCode>([
      ...(paginated ? (['invalid_cursor'] as const) : []),
      ...(body
        ? (['invalid_json', 'invalid_body', 'body_too_large', 'unsupported_media_type'] as const)
        : []),
      ...(scope ? (['insufficient_scope'] as const) : []),
      ...own,
      ...(preconditions ? (['precondition_failed'] as const) : []),
      ...(isRepeatable(operation) ? (['idempotency_key_in_use', 'idempotency_key_reused'] as const) : []),
      ...(deprecation ? (['operation_removed'] as const) : []),
      ...common,
    ]),
  ];
}

/**
 * Whether the operation accepts an `Idempotency-Key`. Operations with methods other than POST are idempotent without it
 * (RFC 9110, section 9.2.2).
 */
export function isRepeatable({ method, repeatable }: Operation): boolean {
  return method === 'POST' && repeatable !== false;
}

/** Whether a successful response contains a resource or a page. Such a response has an entity tag if it has a body. */
export function hasEntityTag(operation: Operation): boolean {
  return !operation.isEffect && (!isRead(operation) || operation.reads.length > 0);
}

/** Returns the methods of an operation. GET implies HEAD (RFC 9110, section 9.3.2). */
export function allowedMethods({ method }: Operation): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
