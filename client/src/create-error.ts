/** Maps error responses to error classes. */
import type { ErrorDetail } from './contract.js';
import {
  type AnimalStoreError,
  AuthenticationError,
  BannedError,
  ConflictError,
  EventsExpiredError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  PreconditionError,
  type Problem,
  RateLimitError,
  RemovedError,
  ServerError,
  UnavailableError,
} from './errors.js';

const byStatus = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: RemovedError,
  412: PreconditionError,
} as const;

/** Returns the error for an unsuccessful response. */
export function createError(
  problem: Problem,
  details: readonly ErrorDetail[],
  retryAfterSeconds: number | undefined,
): AnimalStoreError {
  const { code, status = 0 } = problem;
  if (code === 'api_key_banned') return new BannedError(problem, retryAfterSeconds);
  if (code === 'events_expired') return new EventsExpiredError(problem);
  if (status === 429) return new RateLimitError(problem, retryAfterSeconds);
  if (status === 503) return new UnavailableError(problem, retryAfterSeconds);
  if (Object.hasOwn(byStatus, status)) return new byStatus[status as keyof typeof byStatus](problem);
  return status >= 400 && status < 500 ? new InvalidRequestError(problem, details) : new ServerError(problem);
}
