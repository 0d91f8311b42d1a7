/** What it rejects with. `expect(…).rejects` would hold up the event loop, and with it what is waited for. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejection = await promise.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (rejection === undefined) throw new Error('It did not reject.');
  return rejection.error;
}
