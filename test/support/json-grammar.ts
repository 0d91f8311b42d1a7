/**
 * A JSON parser that follows the grammar of RFC 8259 character by character. It is an independent reference for
 * `parseJson`: slow, and without code or regular expressions from the service.
 */
import { InvalidMemberError, JsonError, NotInt64 } from '../../src/contract/json.ts';

const deepest = 32;
const spaces = ' \t\n\r';
const escapes: Readonly<Record<string, string>> = {
  ...{ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};

class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #isTooDeep = false;
  readonly #mistakes = new Map<string, string>();
  readonly #outermost = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length || this.#isTooDeep) throw new JsonError();
    if (this.#mistakes.size > 0) throw new InvalidMemberError(this.#mistakes, value, this.#outermost);
    return value;
  }

  #value(): unknown {
    this.#space();
    const next = this.#text[this.#at];
    if (next === '"') return this.#string();
    if (next === '{') return this.#within(() => this.#object());
    if (next === '[') return this.#within(() => this.#array());
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  #within<T>(read: () => T): T {
    this.#depth++;
    if (this.#depth > deepest) this.#isTooDeep = true;
    const value = read();
    this.#depth--;
    return value;
  }

  #object(): object {
    const value = {};
    const names = new Set<string>();
    this.#list('{', '}', () => {
      this.#space();
      const name = this.#string();
      this.#space();
      this.#take(':');
      this.#member(names, name);
      const member = this.#value();
      Object.defineProperty(value, name, { value: member, ...ordinary });
    });
    return value;
  }

  #member(names: Set<string>, name: string): void {
    const isForbidden = name === '__proto__';
    if (isForbidden || names.has(name)) {
      this.#mistakes.set(name, isForbidden ? 'is not allowed' : 'is given more than once');
      if (this.#depth === 1) this.#outermost.add(name);
    }
    names.add(name);
  }

  #array(): unknown[] {
    const value: unknown[] = [];
    this.#list('[', ']', () => value.push(this.#value()));
    return value;
  }

  #list(open: string, close: string, item: () => void): void {
    this.#take(open);
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (;;) {
      item();
      this.#space();
      if (this.#text[this.#at] === close) break;
      this.#take(',');
    }
    this.#at++;
  }

  #string(): string {
    this.#take('"');
    let value = '';
    for (;;) {
      const next = this.#next();
      if (next === '"') return value;
      if (next < ' ') throw new JsonError();
      value += next === '\\' ? this.#escaped() : next;
    }
  }

  #escaped(): string {
    const next = this.#next();
    if (next !== 'u') {
      const plain = Object.hasOwn(escapes, next) ? escapes[next] : undefined;
      if (plain === undefined) throw new JsonError();
      return plain;
    }
    let code = 0;
    for (let digits = 0; digits < 4; digits++) {
      const digit = '0123456789abcdef'.indexOf(this.#next().toLowerCase());
      if (digit === -1) throw new JsonError();
      code = code * 16 + digit;
    }
    return String.fromCharCode(code);
  }

  #number(): bigint | NotInt64 {
    const start = this.#at;
    const sign = this.#skip('-') ? -1n : 1n;
    const whole = this.#text[this.#at] === '0' ? this.#next() : this.#digits();
    const fraction = this.#skip('.') ? this.#digits() : '';
    let exponent = 0;
    if (this.#skip('e') || this.#skip('E')) {
      const isNegative = this.#skip('-');
      if (!isNegative) this.#skip('+');
      exponent = Number(this.#digits()) * (isNegative ? -1 : 1);
    }
    return int64Of(
      sign * BigInt(whole + fraction),
      exponent - fraction.length,
      this.#text.slice(start, this.#at),
    );
  }

  #digits(): string {
    const start = this.#at;
    while (isDigit(this.#text[this.#at])) this.#at++;
    if (this.#at === start) throw new JsonError();
    return this.#text.slice(start, this.#at);
  }

  #space(): void {
    while (this.#at < this.#text.length && spaces.includes(this.#text[this.#at] ?? '')) this.#at++;
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(character: string): void {
    if (!this.#skip(character)) throw new JsonError();
  }

  #next(): string {
    const next = this.#text[this.#at++];
    if (next === undefined) throw new JsonError();
    return next;
  }
}

const ordinary = { writable: true, enumerable: true, configurable: true };

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

/** Computes `units` times ten to the power of `exponent`. Returns `NotInt64` if the result is not an int64. */
function int64Of(units: bigint, exponent: number, source: string): bigint | NotInt64 {
  if (units === 0n) return 0n;
  const isFar = exponent > 19 || -exponent > String(units).length;
  if (isFar) return new NotInt64(source);
  const power = 10n ** BigInt(Math.abs(exponent));
  if (exponent < 0 && units % power !== 0n) return new NotInt64(source);
  const value = exponent < 0 ? units / power : units * power;
  return value === BigInt.asIntN(64, value) ? value : new NotInt64(source);
}

/** Parses a text. Throws the same errors as `parseJson`. */
export function readByGrammar(text: string): unknown {
  return new Reader(text).read();
}

/** Formats a parser's result as one line. Includes the value with types and member order, or the errors. */
export function outcomeOf(read: (text: string) => unknown, text: string): string {
  try {
    return shown(read(text));
  } catch (error) {
    if (error instanceof JsonError) return 'refused';
    if (!(error instanceof InvalidMemberError)) throw error;
    return `mistakes: ${shown([...error.mistakes, [...error.outermost], error.value])}`;
  }
}

function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof NotInt64) return `no int64: ${value.source}`;
  if (Array.isArray(value)) return `[${value.map(shown).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).map(
    (name) => `${JSON.stringify(name)}:${shown(Reflect.get(value, name))}`,
  );
  return `${Object.getPrototypeOf(value) === Object.prototype ? '' : 'of another prototype '}{${members.join()}}`;
}
