/** JSON (RFC 8259) that keeps integers beyond 2^53 exact and rejects duplicate members, unlike JSON.parse. */

import { maxBodyBytes } from './bounds.ts';

/** Maximum nesting depth of arrays and objects. Valid request bodies have at most two levels. */
export const maxJsonDepth = 32;

const tooDeep = `It is nested deeper than ${maxJsonDepth} levels`;

/**
 * Maximum length of a number in UTF-16 code units. An int64 needs 20, but may be written as `1e2` or `1.0`. Longer
 * numbers are rejected before their value is computed (RFC 8259, section 9, permits such a limit).
 */
export const maxNumberLength = 64;

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/** A number that is too long, has a fraction or is outside the int64 range. Schemas reject this type. */
export class NotInt64 {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

/** Invalid or unsupported JSON. `message` is the reason that the client sees. */
export class JsonError extends Error {}

/**
 * Thrown for duplicate members and members named `__proto__`. `value` may be used only to validate the other members.
 */
export class InvalidMemberError extends Error {
  readonly mistakes: ReadonlyMap<string, string>;
  readonly value: unknown;
  readonly outermost: ReadonlySet<string>;
  constructor(mistakes: ReadonlyMap<string, string>, value: unknown, outermost: ReadonlySet<string>) {
    super([...mistakes].map(([member, mistake]) => `${member} ${mistake}`).join('; '));
    this.mistakes = mistakes;
    this.value = value;
    this.outermost = outermost;
  }
}

/**
 * Parses JSON text. Numbers are `bigint` if their value is an int64 (including `1.0` and `1e2`, as in JSON Schema),
 * otherwise `NotInt64`. Throws `JsonError` for text that is not JSON or is nested too deeply, and `InvalidMemberError` for
 * duplicate members.
 */
export function parseJson(text: string): unknown {
  return parseFlatObject(text) ?? parseAny(text);
}

/**
 * Maximum length in UTF-16 code units. Beyond this length, the regular expression below takes more than linear time.
 */
const maxFlatLength = maxBodyBytes;
// JSON allows only four whitespace characters, but `\s` matches more.
const space = '[ \\t\\n\\r]*';
const plainString = '"[^"\\\\\\x00-\\x1f]*"';
// Integers of up to 15 digits are exact in JavaScript.
const flatMember = `${space}${plainString}${space}:${space}(?:${plainString}|-?(?:0|[1-9]\\d{0,14})|true|false|null)${space}`;
const flatObject = new RegExp(`^${space}\\{${flatMember}(?:,${flatMember})*\\}${space}$`);

/**
 * Parses a flat object without escapes or long numbers, ten times as fast as the full parser. Returns undefined for
 * other text. Almost all requests contain flat objects.
 */
function parseFlatObject(text: string): unknown {
  if (text.length > maxFlatLength || !flatObject.test(text) || text.includes('__proto__')) return undefined;
  const value = JSON.parse(text) as Record<string, unknown>;
  // The text has no escapes, so every quotation mark begins or ends a string. More quotation marks than the parsed
  // value needs mean that a member is duplicated.
  let quotes = 0;
  for (const name in value) {
    const member = value[name];
    quotes += typeof member === 'string' ? 4 : 2;
    if (typeof member === 'number') value[name] = BigInt(member);
  }
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes--;
  return quotes === 0 ? value : undefined;
}

function parseAny(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text, reviveNumber);
  } catch (error) {
    if (error instanceof RangeError) throw new JsonError(tooDeep);
    throw new JsonError(parserReason(error as Error));
  }
  checkStructure(text, value);
  return value;
}

/** Returns the parser's message without its excerpt of the body, which may be long or contain a secret. */
function parserReason({ message }: Error): string {
  return message.replace('JSON Parse error: ', '').replace(/ ?"[\s\S]*"/, '');
}

function reviveNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const source = context?.source ?? String(value);
  return shortInteger.test(source) ? BigInt(value) : parseNumber(source);
}

/** Integers of up to 15 digits are exact in JavaScript. Most numbers are such integers. */
const shortInteger = /^-?\d{1,15}$/;
const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns the exact value of a JSON number. Never computes powers of ten beyond the range of an int64. */
function parseNumber(source: string): bigint | NotInt64 {
  if (source.length > maxNumberLength) return new NotInt64(source);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberForm.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 0n;
  const zeros = digits.length - significant.length - fraction.length + Number(exponent);
  if (zeros < 0 || significant.length + zeros > 19) return new NotInt64(source);
  const value = BigInt(sign + significant + '0'.repeat(zeros));
  return value < int64Min || value > int64Max ? new NotInt64(source) : value;
}

// Matches whole strings, so that braces and colons in a string are not treated as structure.
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:]/g;

/** Rejects deep nesting, duplicate members and `__proto__` at any level. The text must be valid JSON. */
function checkStructure(text: string, value: unknown): void {
  const open: Set<string>[] = [];
  const mistakes = new Map<string, string>();
  const outermost = new Set<string>();
  let lastString = '';
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const member = lastString.includes('\\') ? (JSON.parse(lastString) as string) : lastString.slice(1, -1);
      const mistake = checkMember(member, open.at(-1));
      if (mistake !== undefined) {
        mistakes.set(member, mistake);
        if (open.length === 1) outermost.add(member);
      }
    } else lastString = token;
    if (open.length > maxJsonDepth) throw new JsonError(tooDeep);
  }
  if (mistakes.size > 0) throw new InvalidMemberError(mistakes, value, outermost);
}

/** Adds a member to those already seen in the object. Returns an error if the member is duplicated or not allowed. */
function checkMember(member: string, members: Set<string> | undefined): string | undefined {
  const isRepeated = members?.has(member);
  members?.add(member);
  if (member === '__proto__') return 'is not allowed';
  return isRepeated ? 'is given more than once' : undefined;
}

const int64Form = /^(?:0|-?[1-9]\d{0,18})$/;

/** Parses an int64 from decimal digits without leading zeros or a plus sign. Returns undefined for other text. */
export function parseInt64(text: string): bigint | undefined {
  if (!int64Form.test(text)) return undefined;
  const value = BigInt(text);
  return value < int64Min || value > int64Max ? undefined : value;
}
