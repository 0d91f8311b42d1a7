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

interface Formatted {
  readonly format: number;
}

/** The format of this version, the last of its migration steps. */
export const newestFormatOf = (steps: readonly Formatted[]): number => steps.at(-1)?.format ?? 0;

/** Throws `StoreUnusableError` for a store of a newer version, or of a version between two releases. */
export function expectKnownFormat(store: string, format: number, steps: readonly Formatted[]): void {
  const newest = newestFormatOf(steps);
  if (format > newest) {
    throw new StoreUnusableError(
      `${store} was written by a newer version of the service (format ${format}, this version supports up to ${newest}). ` +
        'Use that version or a newer one.',
    );
  }
  if (steps.some((step) => step.format === format)) return;
  throw new StoreUnusableError(
    `${store} has format ${format}, from an unreleased version of the service, which cannot be upgraded. Nothing was ` +
      'changed. Restore a backup of a released version, or export the animals with the unreleased version ("animal-store ' +
      'export") and import them into a new store.',
  );
}
