/**
 * Tracks requests whose outcome is unknown because the response was lost. A retry sends the same
 * `Idempotency-Key`, so the request is executed only once and the retry returns the lost response, including
 * an issued key.
 */

/** Paths of operations that do not accept an `Idempotency-Key`. A repeated request may be executed again. */
const withoutKey: ReadonlySet<string> = new Set([
  ...['/session', '/backups', '/backups/verify', '/webhooks/{webhookId}/test'],
]);

/** Idempotency keys by request. */
const unsettled = new Map<string, string>();

interface IdempotentAttempt {
  readonly headers: Record<string, string>;
  /** Whether the request is safe to repeat. */
  readonly isRepeatable: boolean;
  /** Must be called when the outcome is known. */
  readonly settle: () => void;
}

export function createAttempt(
  method: string,
  path: string,
  address: string,
  body: string | null,
): IdempotentAttempt {
  const isRepeatable = !withoutKey.has(path);
  if (method !== 'POST' || !isRepeatable) return { headers: {}, isRepeatable, settle: () => {} };
  const request = `${address}\n${body ?? ''}`;
  const key = unsettled.get(request) ?? crypto.randomUUID();
  unsettled.set(request, key);
  return {
    headers: { 'Idempotency-Key': key },
    isRepeatable,
    settle: () => unsettled.delete(request),
  };
}
