/** Numbers, times and sizes as people read them. */
import { signal } from '@preact/signals';

const language = 'en';
const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });

export const grouped = (value: number | bigint): string => whole.format(value);

/** For axes and tight places: 12K. */
export const compact = (value: number): string => short.format(value);

/** A rate: with a digit behind the point while it is small. */
export const rate = (value: number): string => (value < 100 ? oneDigit : whole).format(value);

/** The text as the beginning of a sentence. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A word with its number: `1 key`, `2 keys`. */
export function counted(value: number | bigint, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 || value === 1n ? one : many}`;
}

/** A time to answer, given in microseconds. */
export function latency(microseconds: number | null): string {
  if (microseconds === null) return '–';
  if (microseconds < 1_000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 1_000_000) return `${oneDigit.format(microseconds / 1_000)} ms`;
  return `${oneDigit.format(microseconds / 1_000_000)} s`;
}

export { bytesText as bytes } from '../src/domain/store-facts.ts';

export function instant(at: string | number): string {
  return dateTime.format(new Date(at));
}

/** A sentence of the service with its instants as people read them. */
export function withInstants(sentence: string): string {
  return sentence.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, instant);
}

/** The present, for times that are told relative to it; it moves on every ten seconds. */
export const now = signal(Date.now());

export function watchTime(): void {
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

function unitOf(seconds: number): Unit {
  return units.findLast(([, size]) => seconds >= size) ?? units[0];
}

/** How long ago or ahead: `3 minutes ago`. */
export function fromNow(at: string): string {
  const seconds = (Date.parse(at) - Math.max(now.value, Date.now() - 10_000)) / 1_000;
  if (Math.abs(seconds) < 10) return Date.parse(at) > Date.now() ? 'in a moment' : 'just now';
  const [unit, size] = unitOf(Math.abs(seconds));
  return relative.format(Math.round(seconds / size), unit);
}

/** How long: `2 hours`. */
export function duration(seconds: number): string {
  const [unit, size] = unitOf(seconds);
  return counted(Math.round(seconds / size), unit);
}
