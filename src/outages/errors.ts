import { ApiError } from '../contract/api-error.ts';

/**
 * A temporary failure that changed nothing: the disk is full, the server is down, or a lock was not acquired in time.
 */
export class StorageUnavailable extends ApiError {
  constructor(reason: string, cause?: unknown, message?: string) {
    const more = { cause: new Error(reason, { cause }) };
    super('service_unavailable', message === undefined ? more : { ...more, message });
  }
}

/** The store failed during a write. The write was applied completely or not at all, but it is unknown which. */
export class WriteUncertainError extends StorageUnavailable {
  constructor(reason: string, cause?: unknown) {
    super(
      reason,
      cause,
      'It is unknown whether this request was applied. Wait for the number of seconds in the Retry-After header, and check before you retry.',
    );
  }
}

/** The data file is damaged. Retries fail as well, if they read the same part of the file. */
export class DataDamagedError extends StorageUnavailable {}

/** The store cannot be opened; `message` gives the reason and the remedy. */
export class StoreUnusableError extends Error {}
