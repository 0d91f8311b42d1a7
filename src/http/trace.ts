/** Version, trace id, parent id and flags; versions to come may have more behind them (W3C Trace Context, section 4.3). */
const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** The trace that a request is part of; undefined when it says nothing, or nothing well formed. */
export function traceIdOf(header: string | null): string | undefined {
  const [, version, traceId, more] = traceparent.exec(header ?? '') ?? [];
  return version === '00' && more !== undefined ? undefined : traceId;
}
