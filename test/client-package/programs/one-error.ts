/** Exports one error class of the package. */
export { NotFoundError } from '@animal-store/client';
