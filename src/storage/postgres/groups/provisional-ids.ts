/** Number of digits of the number within a group. */
const numberDigits = 7;

/**
 * Ids for rows that a group adds, until its statement draws the real ones from the counters. They are outside of int64
 * and begin with digits unknown to clients, so that no other value in rows and texts is mistaken for one.
 */
export class ProvisionalIds {
  readonly #prefix: string;
  readonly #pattern: RegExp;
  #last = 0;

  /** `secret`: 48 random bits, as 8 characters of base64. */
  constructor(secret: string) {
    const bits = Buffer.from(secret, 'base64').readUIntBE(0, 6);
    this.#prefix = `1${String(bits).padStart(15, '0')}`;
    this.#pattern = new RegExp(`${this.#prefix}\\d{${numberDigits}}`, 'g');
  }

  next(): bigint {
    this.#last = (this.#last + 1) % 10 ** numberDigits;
    return BigInt(this.#prefix + String(this.#last).padStart(numberDigits, '0'));
  }

  /** The provisional ids in a text, each once. */
  in(text: string): bigint[] {
    return [...new Set(text.match(this.#pattern) ?? [])].map(BigInt);
  }

  /** A copy of a plain value with real ids. */
  replaced(value: unknown, real: ReadonlyMap<bigint, bigint>): unknown {
    if (typeof value === 'bigint') return real.get(value) ?? value;
    if (typeof value === 'string') {
      return value.replace(this.#pattern, (digits) => String(real.get(BigInt(digits)) ?? digits));
    }
    if (Array.isArray(value)) return value.map((item) => this.replaced(item, real));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [name, this.replaced(member, real)]);
    return Object.fromEntries(members);
  }
}
