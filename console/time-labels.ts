/** Time labels for plots, in the browser's time zone. */
const clock = { hour: '2-digit', minute: '2-digit', hour12: false } as const;
const date = { month: 'short', day: 'numeric' } as const;
const writer = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en', options);
  return (seconds: number) => format.format(seconds * 1_000);
};

export const showClock = writer(clock);
export const showSecond = writer({ ...clock, second: '2-digit' });
export const showDate = writer(date);
export const showDateAndClock = writer({ ...date, ...clock });
export const showDateAndSecond = writer({ ...date, ...clock, second: '2-digit' });

/** Formats a time as the time of day, or as the date if it is not on the same day as `before`. */
export function showClockOrDate(seconds: number, before: number | undefined): string {
  const isNewDay = before !== undefined && showDate(before) !== showDate(seconds);
  return isNewDay ? showDate(seconds) : showClock(seconds);
}
