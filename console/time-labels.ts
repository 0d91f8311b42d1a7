/** Time labels for plots, in the browser's time zone. */
const clock = { hour: '2-digit', minute: '2-digit', hour12: false } as const;
const date = { month: 'short', day: 'numeric' } as const;
const createFormatter = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en', options);
  return (seconds: number) => format.format(seconds * 1_000);
};

export const formatTimeOfDay = createFormatter(clock);
export const formatTimeOfDayWithSeconds = createFormatter({ ...clock, second: '2-digit' });
export const formatShortDate = createFormatter(date);
export const formatShortDateTime = createFormatter({ ...date, ...clock });
export const formatShortDateTimeWithSeconds = createFormatter({ ...date, ...clock, second: '2-digit' });

/** Formats a time as the time of day, or as the date if it is not on the same day as `before`. */
export function formatTimeOrDate(seconds: number, before: number | undefined): string {
  const isNewDay = before !== undefined && formatShortDate(before) !== formatShortDate(seconds);
  return isNewDay ? formatShortDate(seconds) : formatTimeOfDay(seconds);
}
