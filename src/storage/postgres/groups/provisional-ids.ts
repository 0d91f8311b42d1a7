/** Number of digits of the sequence number. */
const numberDigits = 7;

/**
 * Temporary ids for rows that a group adds, used until the group's statement takes real ids from the counters.
 * Provisional ids are outside the int64 range and begin with digits unknown to clients, so that no other value in rows
 * or text is mistaken for a provisional id.
 */
export class ProvisionalIds {
  readonly #prefix: string;
  readonly #pattern: RegExp;
  #last = 0;

  /** `secret` is 48 random bits, encoded as 8 base64 characters. */
  constructor(secret: string) {
    const bits = Buffer.from(secret, 'base64').readUIntBE(0, 6);
    this.#prefix = `1${String(bits).padStart(15, '0')}`;
    this.#pattern = new RegExp(`${this.#prefix}\\d{${numberDigits}}`, 'g');
  }

  next(): bigint {
    this.#last = (this.#last + 1) % 10 ** numberDigits;
    return BigInt(this.#prefix + String(this.#last).padStart(numberDigits, '0'));
  }

  /** Replaces the provisional ids in a text. Throws if `replacement` returns undefined. */
  replacedIn(text: string, replacement: (id: bigint) => string | undefined): string {
    return text.replace(this.#pattern, (digits) => {
      const replaced = replacement(BigInt(digits));
      if (replaced !== undefined) return replaced;
      throw new Error(
        'A unit of work returned, or stored in an existing row, the id of a row that it did not add.',
      );
    });
  }

  /** Returns a copy of a plain value with real ids. Throws if an id is unknown. */
  replaced(value: unknown, real: ReadonlyMap<bigint, bigint>): unknown {
    if (typeof value === 'bigint') return BigInt(this.replaced(String(value), real) as string);
    if (typeof value === 'string') return this.replacedIn(value, (id) => real.get(id)?.toString());
    if (Array.isArray(value)) return value.map((item) => this.replaced(item, real));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [name, this.replaced(member, real)]);
    return Object.fromEntries(members);
  }
}
