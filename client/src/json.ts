/** Reads and writes JSON with exact 64-bit integers, which JSON.parse would round beyond 2^53. */
import { type Int64, int64Members } from './contract.js';
import { ArgumentError } from './errors.js';

// Matches a member name with its numeric value, or any other string. Matching whole strings ensures that text within a
// string is never taken for a member.
const members = /("[^"\\]*(?:\\.[^"\\]*)*")(?:(\s*:\s*)(-?\d[\d.eE+-]*))?/g;

/**
 * Parses JSON like JSON.parse, but returns the integers of `int64Members` as `bigint`. Throws a SyntaxError
 * for invalid JSON.
 */
export function parseJson(text: string): unknown {
  // The time to match invalid JSON could grow with the square of its length.
  JSON.parse(text);
  // Each number is replaced in the text by its index in this list, and restored by the reviver.
  const numbers: (bigint | number)[] = [];
  const placed = text.replace(members, (match, name: string, colon: string | undefined, digits: string) => {
    if (colon === undefined || !int64Members.includes(JSON.parse(name))) return match;
    const rounded: number = JSON.parse(digits);
    return `${name}${colon}${numbers.push(/^-?\d+$/.test(digits) ? BigInt(digits) : rounded) - 1}`;
  });
  return JSON.parse(placed, (name, value) =>
    typeof value === 'number' && int64Members.includes(name) ? numbers[value] : value,
  );
}

/**
 * Serializes a value like JSON.stringify, but writes `bigint` as an integer with all of its digits. Values that JSON
 * cannot express are null, or omitted if they are members of an object.
 */
export function stringify(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${Array.from(value, stringify).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if ('toJSON' in value && typeof value.toJSON === 'function') return stringify(value.toJSON());
  const members = Object.entries(value)
    .filter(([, member]) => !['undefined', 'function', 'symbol'].includes(typeof member))
    .map(([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`);
  return `{${members.join()}}`;
}

/** Serializes the body of a request, a flat object. Throws an ArgumentError for an unsafe integer. */
export function stringifyJson(body: object): string {
  const written = Object.entries(body)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${written64(name, value)}`);
  return `{${written.join()}}`;
}

function written64(name: string, value: unknown): string {
  return int64Members.includes(name) ? integerText(name, value as Int64) : stringify(value);
}

/** Returns the decimal digits of an integer. Throws an ArgumentError for an unsafe number. */
export function integerText(name: string, value: Int64): string {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value);
  const given = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new ArgumentError(`${name} must be a bigint or a safe integer, not ${given}.`);
}
