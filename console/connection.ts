/** Tracks whether the service is reachable. */
import { signal } from '@preact/signals';

/** Whether the last call reached the service. */
export const isConnected = signal(true);

/** Incremented whenever pages must reload, for example after a reconnect. */
export const reloadCount = signal(0);

export function reloadAll(): void {
  reloadCount.value += 1;
}

const probeEveryMs = 2_000;
let probe: ReturnType<typeof setInterval> | undefined;

export function markConnectionLost(): void {
  isConnected.value = false;
  probe ??= setInterval(probeService, probeEveryMs);
}

export function markConnectionRestored(): void {
  if (isConnected.value) return;
  clearInterval(probe);
  probe = undefined;
  isConnected.value = true;
  reloadAll();
}

/** Probes the service. Any response, even an error, means that the service is reachable. */
async function probeService(): Promise<void> {
  await fetch('/admin/v1/session').then(markConnectionRestored, () => {});
}

export function watchConnection(): void {
  addEventListener('offline', markConnectionLost);
  addEventListener('online', () => void probeService());
}
