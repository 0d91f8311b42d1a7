/**
 * Returns the reason for a rejection. `expect(…).rejects` cannot be used, because it would block the event loop and the
 * awaited work.
 */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejection = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (rejection === undefined) throw new Error('The promise did not reject.');
  return rejection.error;
}
