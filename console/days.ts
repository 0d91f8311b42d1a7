/**
 * Returns the start of a day (`2026-11-23`) plus `later` days, in the browser's time zone. Returns undefined if
 * the day is invalid.
 */
export function startOf(day: string | null, later: number): string | undefined {
  if (day === null) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // The day comes from the address bar, so it may be any text.
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
