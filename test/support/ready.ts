/** Resolves when the service reports that it is ready. */
export async function untilReady(url: string): Promise<void> {
  const status = async () => ((await (await fetch(`${url}/readyz`)).json()) as { status: string }).status;
  while ((await status()) !== 'ready') await Bun.sleep(5);
}
