/** Exports the whole package. */
export * from '@animal-store/client';
