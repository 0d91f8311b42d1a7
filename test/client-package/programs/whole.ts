/** All of the package. */
export * from '@animal-store/client';
