/** Errors for stores that either engine rejects for the same reason. */
import { StoreUnusableError } from '../outages/errors.ts';

/** The message ends with `otherwise`, an alternative to finishing the copy. */
export function unfinishedCopyError(store: string, otherwise: string): StoreUnusableError {
  return new StoreUnusableError(
    `${store} is the target of an unfinished copy. Run the same "animal-store copy" again to finish it, or ${otherwise}.`,
  );
}

/** `format` and `newest` are the format of the store and the format of this version. */
export function outdatedStoreError(store: string, format: number, newest: number): StoreUnusableError {
  return new StoreUnusableError(
    `${store} has format ${format}, from an older version of the service; this version needs format ${newest}. Nothing was ` +
      'changed. To upgrade the store, create a backup, then start the service with this version or run "animal-store migrate". ' +
      'To keep the older format, run this command with the older version.',
  );
}
