/** Formats numbers, times and sizes for display. */
import { signal } from '@preact/signals';

const language = 'en';
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const twoDigits = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'always', style: 'short' });

/** Maximum count that the admin API returns, as specified in its contract. */
const maxCount = 10_000;

export const formatInteger = (value: number | bigint): string => whole.format(value);

/** Formats a number in a short form such as `12K`, for axes and narrow columns. */
export const formatCompact = (value: number): string => short.format(value);

/** Formats a rate, with one decimal below 100, and two significant digits below 1. */
export const formatRate = (value: number): string =>
  (value < 1 ? twoDigits : value < 100 ? oneDigit : whole).format(value);

/** Capitalizes the first letter. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Formats a count with its noun: `1 key`, `2 keys`. */
export function pluralize(value: number | bigint, one: string, many = `${one}s`): string {
  return `${formatInteger(value)} ${value === 1 || value === 1n ? one : many}`;
}

/** Formats a count that the service caps at 10,000. */
export function formatCappedCount(value: number): string {
  return value >= maxCount ? `at least ${formatInteger(maxCount)}` : formatInteger(value);
}

/** Formats a latency given in microseconds. */
export function formatLatency(microseconds: number | null): string {
  if (microseconds === null) return '–';
  if (microseconds < 1_000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 1_000_000) return `${oneDigit.format(microseconds / 1_000)} ms`;
  return `${oneDigit.format(microseconds / 1_000_000)} s`;
}

export { formatBytes as bytes } from '../src/domain/format-fact.ts';

/** Formats a date: `Nov 23, 2026`. */
export function formatDate(at: string | number): string {
  return day.format(new Date(at));
}

export function formatDateTime(at: string | number): string {
  return dateTime.format(new Date(at));
}

/** Replaces the ISO timestamps in a message from the service with localized times. */
export function localizeTimes(sentence: string): string {
  return sentence.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, formatDateTime);
}

/** The current time (Unix ms), updated every ten seconds, for relative times. */
export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    now.value = Date.now();
  }, 10_000);
}

const units = [
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
  ['month', 2_629_800],
  ['year', 31_557_600],
] as const;

type Unit = (typeof units)[number];

function largestUnit(seconds: number): Unit {
  return units.findLast(([, size]) => seconds >= size) ?? units[0];
}

/**
 * Formats a relative time, such as `3 min. ago` or `in 3 min.` A difference of less than ten seconds is `just now`, or
 * `in a moment` if the time is in the future and `isAhead` is set. Without `isAhead`, a time in the future only means
 * that the service's clock is ahead of the browser's.
 */
export function formatRelative(at: string, isAhead = false): string {
  const seconds = (Date.parse(at) - Math.max(now.value, Date.now() - 10_000)) / 1_000;
  if (Math.abs(seconds) < 10) return isAhead && Date.parse(at) > Date.now() ? 'in a moment' : 'just now';
  const [unit, size] = largestUnit(Math.abs(seconds));
  return relative.format(Math.round(seconds / size), unit);
}

/** Formats a duration, rounded to its largest unit: `2 hours`. */
export function formatDuration(seconds: number): string {
  const [unit, size] = largestUnit(seconds);
  return pluralize(Math.round(seconds / size), unit);
}
