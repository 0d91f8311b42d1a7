/** The start of a day (`2026-11-23`) in the browser's time zone, plus a number of days. */
export function startOf(day: string | null, later: number): string | undefined {
  if (day === null) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // An address typed by hand may contain any text.
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
