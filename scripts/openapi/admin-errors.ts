/** Errors in the OpenAPI document of the admin API. */
import { allAdminOperations, requiredRole } from '../../src/contract/admin/operations.ts';
import type { ErrorCode } from '../../src/contract/errors.ts';
import { isRead, type Operation } from '../../src/contract/operation.ts';
import { isRepeatable } from '../../src/contract/operations.ts';
import { errorBodySchema } from './error-body.ts';

const commonErrors = [
  'invalid_parameter',
  'sign_in_required',
  'sign_in_failed',
  'host_unknown',
  'too_many_sign_ins',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

/**
 * Returns all possible errors of an operation: those it declares, those implied by its definition, and those common to
 * all operations.
 */
export function possibleAdminErrors(operation: Operation): ErrorCode[] {
  const { body, upload, paginated, preconditions, errors: own } = operation;
  return [
    ...new Set<ErrorCode>([
      ...(paginated ? (['invalid_cursor'] as const) : []),
      ...(body ? (['invalid_json', 'invalid_body'] as const) : []),
      ...(body || upload ? (['body_too_large', 'unsupported_media_type'] as const) : []),
      ...own,
      ...(preconditions ? (['precondition_failed'] as const) : []),
      ...(isRepeatable(operation) ? (['idempotency_key_reused'] as const) : []),
      ...(requiredRole(operation) === 'admin' ? (['role_insufficient'] as const) : []),
      ...(isRead(operation) ? [] : (['cross_site_request'] as const)),
      ...commonErrors.filter((code) => code !== 'sign_in_required' || requiredRole(operation) !== undefined),
    ]),
  ];
}

export const adminErrorCodes: readonly ErrorCode[] = [
  ...new Set<ErrorCode>([
    ...allAdminOperations.flatMap(possibleAdminErrors),
    'route_not_found',
    'method_not_allowed',
  ]),
];

export const AdminErrorBody = errorBodySchema('Error', adminErrorCodes);
