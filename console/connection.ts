/** Whether the service can be reached. */
import { signal } from '@preact/signals';

/** Whether the last call reached the service. */
export const isConnected = signal(true);

/** Counts the times that a lost connection came back, so that what is shown can be read again. */
export const timesHealed = signal(0);

const probeEveryMs = 2_000;
let probe: ReturnType<typeof setInterval> | undefined;

export function connectionLost(): void {
  isConnected.value = false;
  probe ??= setInterval(look, probeEveryMs);
}

export function connectionHealed(): void {
  if (isConnected.value) return;
  clearInterval(probe);
  probe = undefined;
  isConnected.value = true;
  timesHealed.value += 1;
}

/** Any answer will do, even a refusal. */
async function look(): Promise<void> {
  await fetch('/admin/v1/session').then(connectionHealed, () => {});
}

export function watchConnection(): void {
  addEventListener('offline', connectionLost);
  addEventListener('online', () => void look());
}
