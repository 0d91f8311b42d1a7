/**
 * When a day (`2026-11-23`) begins in the browser's time zone, shifted by `later` days; undefined if it is
 * not a date.
 */
export function startOf(day: string | null, later: number): string | undefined {
  if (day === null) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // The day comes from the address bar, where anything can be typed.
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
