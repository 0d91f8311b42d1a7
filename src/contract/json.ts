/** JSON (RFC 8259) that keeps integers beyond 2^53 exact and rejects duplicate members, unlike JSON.parse. */

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

/** Maximum length in UTF-16 code units. Longer text is rare, and if it is not flat, the attempt is wasted. */
const maxFlatLength = 2_048;
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
  if (text.length > maxFlatLength || !flatObject.test(text) || text.includes(forbidden)) return undefined;
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
  try {
    JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw new JsonError(tooDeep);
    throw new JsonError(parserReason(error as Error));
  }
  const reader = new JsonReader(text);
  const value = reader.read();
  const { mistakes, outermost } = reader;
  if (mistakes.size > 0) throw new InvalidMemberError(mistakes, value, outermost);
  return value;
}

/** Returns the parser's message without its excerpt of the body, which may be long or contain a secret. */
function parserReason({ message }: Error): string {
  return message.replace('JSON Parse error: ', '').replace(/ ?"[\s\S]*"/, '');
}

/** Integers of up to 15 digits are exact in JavaScript. Most numbers are such integers. */
const shortInteger = /^-?\d{1,15}$/;
const numberForm = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns the exact value of a JSON number. Never computes powers of ten beyond the range of an int64. */
function parseNumber(source: string): bigint | NotInt64 {
  if (shortInteger.test(source)) return BigInt(Number(source));
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

/** Assigning to this member would set the prototype of the object. */
const forbidden = '__proto__';

const lastSpace = ' '.charCodeAt(0);
const quote = '"'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const comma = ','.charCodeAt(0);
const colon = ':'.charCodeAt(0);
const bracket = ']'.charCodeAt(0);
const brace = '}'.charCodeAt(0);

/** Whether a character belongs to the number before it. The end of the text, whose code is NaN, does not. */
const isInNumber = (code: number) => code > lastSpace && code !== comma && code !== bracket && code !== brace;

/**
 * Reads valid JSON in one pass, several times as fast as `JSON.parse` with a function that receives each value. Throws
 * `JsonError` for deep nesting, and collects duplicate members and members named `__proto__` at any level.
 */
class JsonReader {
  readonly mistakes = new Map<string, string>();
  /** Names of the members of the outermost object that are mistakes. */
  readonly outermost = new Set<string>();
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    switch (this.#next()) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      case 't':
        return this.#skip('true', true);
      case 'f':
        return this.#skip('false', false);
      case 'n':
        return this.#skip('null', null);
      default:
        return this.#number();
    }
  }

  /** Returns the first character of the next value, name or end. Separators are skipped: in valid JSON, they are in place. */
  #next(): string | undefined {
    let code = this.#text.charCodeAt(this.#at);
    while (code <= lastSpace || code === comma || code === colon) code = this.#text.charCodeAt(++this.#at);
    return this.#text[this.#at];
  }

  #object(): object {
    const members: Record<string, unknown> = {};
    this.#open();
    while (this.#next() !== '}') {
      const name = this.#string();
      this.#check(name, members);
      const value = this.read();
      if (name === forbidden)
        Object.defineProperty(members, name, { value, enumerable: true, configurable: true });
      else members[name] = value;
    }
    this.#close();
    return members;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#open();
    while (this.#next() !== ']') items.push(this.read());
    this.#close();
    return items;
  }

  #open(): void {
    this.#at++;
    if (++this.#depth > maxJsonDepth) throw new JsonError(tooDeep);
  }

  #close(): void {
    this.#at++;
    this.#depth--;
  }

  #check(name: string, members: object): void {
    const isForbidden = name === forbidden;
    if (!isForbidden && !Object.hasOwn(members, name)) return;
    this.mistakes.set(name, isForbidden ? 'is not allowed' : 'is given more than once');
    if (this.#depth === 1) this.outermost.add(name);
  }

  #string(): string {
    const start = this.#at++;
    let hasEscapes = false;
    for (let code = this.#code(); code !== quote; code = this.#code()) {
      if (code === backslash) hasEscapes = true;
      this.#at += code === backslash ? 2 : 1;
    }
    this.#at++;
    return hasEscapes
      ? (JSON.parse(this.#text.slice(start, this.#at)) as string)
      : this.#text.slice(start + 1, this.#at - 1);
  }

  #number(): bigint | NotInt64 {
    const start = this.#at;
    while (isInNumber(this.#code())) this.#at++;
    return parseNumber(this.#text.slice(start, this.#at));
  }

  #skip<Value>(word: string, value: Value): Value {
    this.#at += word.length;
    return value;
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }
}

const int64Form = /^(?:0|-?[1-9]\d{0,18})$/;

/** Parses an int64 from decimal digits without leading zeros or a plus sign. Returns undefined for other text. */
export function parseInt64(text: string): bigint | undefined {
  if (!int64Form.test(text)) return undefined;
  const value = BigInt(text);
  return value < int64Min || value > int64Max ? undefined : value;
}
