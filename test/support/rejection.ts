/** The reason for a rejection. `expect(…).rejects` would block the event loop, and with it the awaited work. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejection = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (rejection === undefined) throw new Error('It did not reject.');
  return rejection.error;
}
