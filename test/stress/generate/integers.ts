import type { Chance } from './chance.ts';

const int64Smallest = -(2n ** 63n);
const int64Largest = 2n ** 63n - 1n;

/** A random int64. The bounds, powers of two and ten, and adjacent values are more frequent than other values. */
export function anyInt64(chance: Chance): bigint {
  const kind = chance.int(0, 9);
  if (kind < 4) return chance.bits64();
  if (kind < 6) return chance.bits64() >> BigInt(chance.int(0, 63));
  if (kind === 6) return BigInt(chance.int(-1_000, 1_000));
  if (kind === 7) return chance.pick([int64Smallest, int64Largest, 0n, 2n ** 53n, -(2n ** 53n)]);
  const power = chance.often(0.5) ? 2n ** BigInt(chance.int(0, 62)) : 10n ** BigInt(chance.int(0, 18));
  const near = power + BigInt(chance.int(-2, 2));
  return chance.often(0.5) ? near : -near;
}

/** Writes an integer as JSON in one of three forms: plain, with zeros after a decimal point, or with an exponent. */
export function spelled(value: bigint, chance: Chance): string {
  const plain = value === 0n && chance.often(0.3) ? '-0' : String(value);
  switch (chance.int(0, 5)) {
    case 0:
      return `${plain}.${'0'.repeat(chance.int(1, 25))}`;
    case 1:
      return `${plain}${chance.pick(['e', 'E'])}${chance.pick(['', '+', '-'])}${'0'.repeat(chance.int(1, 4))}`;
    case 2:
      return shifted(plain, chance);
    default:
      return plain;
  }
}

/** The same value with the decimal point moved: 1200 becomes 12.00e2, 0.12e4 or 120000e-2. */
function shifted(plain: string, chance: Chance): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(plain) ?? [];
  const places = chance.int(1, 24);
  const exponent = `${chance.pick(['e', 'E'])}`;
  if (chance.often(0.5))
    return `${sign}${digits === '0' ? '0' : digits + '0'.repeat(places)}${exponent}-${places}`;
  const padded = digits.padStart(places + 1, '0');
  const point = padded.length - places;
  const whole = padded.slice(0, point).replace(/^0+(?=\d)/, '');
  return `${sign}${whole}.${padded.slice(point)}${exponent}${chance.pick(['', '+'])}${places}`;
}
