/**
 * Returns the error with which a promise rejects. Used instead of `expect(…).rejects`, which blocks the event loop and
 * thus the awaited work.
 */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejection = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (rejection === undefined) throw new Error('The promise did not reject.');
  return rejection.error;
}
