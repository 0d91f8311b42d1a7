/**
 * Returns the start of the day that is `later` days after `day` (`2026-11-23`), in the browser's time zone; undefined
 * if `day` is invalid.
 */
export function startOfDay(day: string | null, later: number): string | undefined {
  if (day === null) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // `day` comes from the address bar, so it can be any text.
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
