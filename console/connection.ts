/** Tracks whether the service is reachable. */
import { signal } from '@preact/signals';

/** Whether the last call reached the service. */
export const isConnected = signal(true);

/** Incremented whenever pages must reload, for example after a reconnect. */
export const timesHealed = signal(0);

export function readAgain(): void {
  timesHealed.value += 1;
}

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
  readAgain();
}

/** Probes the service. Any response, even an error, means that the service is reachable. */
async function look(): Promise<void> {
  await fetch('/admin/v1/session').then(connectionHealed, () => {});
}

export function watchConnection(): void {
  addEventListener('offline', connectionLost);
  addEventListener('online', () => void look());
}
