/**
 * Requests whose outcome is not known, because the response was lost. The same request again carries the same `Idempotency-Key`, so
 * it is done only once, and its response has what the lost one had: a key that was issued, say.
 */

/** Each makes something that a repetition finds in another way, or nothing. */
const withoutKey: ReadonlySet<string> = new Set([
  ...['/session', '/backups', '/backups/verify', '/webhooks/{webhookId}/test'],
]);

/** The key of each, by what it asks for. */
const unsettled = new Map<string, string>();

export interface Attempt {
  readonly headers: Record<string, string>;
  /** Whether the request may be sent again without harm. */
  readonly isRepeatable: boolean;
  /** To be called once the outcome is known. */
  readonly settle: () => void;
}

export function attemptOf(method: string, path: string, address: string, body: string | null): Attempt {
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
