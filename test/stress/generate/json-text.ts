import type { Chance } from './chance.ts';

/**
 * Characters that commonly cause bugs: quotes, separators, byte order marks, and code points next to the surrogate
 * range.
 */
const notorious = [
  '"',
  '\\',
  '/',
  "'",
  '<',
  '&',
  '%',
  '\u0080',
  '\u0085',
  '\u00a0',
  '\u200b',
  '\u200d',
  '\u2028',
  '\u2029',
  '\ufeff',
  '\ufffd',
  '\uffff',
  '\ud7ff',
  '\ue000',
  '\u{10000}',
  '\u{10ffff}',
  '\u{1f436}',
  '\u0301',
  '\u202e',
];

/** A valid name: 1 to 255 code points, no control characters, and at least one character that is not whitespace. */
export function anyName(chance: Chance): string {
  const length = chance.often(0.05)
    ? chance.pick([1, 254, 255])
    : chance.int(1, chance.often(0.1) ? 255 : 20);
  const characters = Array.from({ length }, () => anyCharacter(chance));
  characters[chance.int(0, length - 1)] = chance.pick(['O', 'z', '7', 'é', '犬', '\u{1f436}']);
  return characters.join('');
}

function anyCharacter(chance: Chance): string {
  const kind = chance.int(0, 9);
  if (kind < 6) return String.fromCodePoint(chance.int(0x20, 0x7e));
  if (kind < 8) return chance.pick(notorious);
  const point = kind === 8 ? chance.int(0x80, 0xd7ff) : chance.int(0xe000, 0x10ffff);
  return String.fromCodePoint(point);
}

const shortEscapes: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '/': '\\/' };

/** Writes a string as JSON, with some unnecessary escapes. */
export function jsonString(text: string, chance: Chance): string {
  if (chance.often(0.7)) return JSON.stringify(text);
  let json = '';
  for (let index = 0; index < text.length; index++) {
    const unit = text[index] as string;
    const code = text.charCodeAt(index);
    const isHalf = code >= 0xd800 && code <= 0xdfff;
    if (isHalf) {
      // Escapes both surrogates of a pair or neither. The text contains no lone surrogates.
      const pair = unit + (text[++index] as string);
      json += chance.often(0.5)
        ? pair
        : unicodeEscape(pair[0] as string, chance) + unicodeEscape(pair[1] as string, chance);
    } else if (chance.often(0.3)) json += unicodeEscape(unit, chance);
    else json += shortEscapes[unit] ?? unit;
  }
  return `"${json}"`;
}

function unicodeEscape(unit: string, chance: Chance): string {
  const digits = unit.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${chance.often(0.5) ? digits : digits.toUpperCase()}`;
}

const space = ['', '', '', ' ', '\n', '\t', '\r\n  '];

/** Writes an object as JSON, with the members in random order and random whitespace between them. */
export function objectText(chance: Chance, members: readonly (readonly [string, string])[]): string {
  const gap = () => chance.pick(space);
  const written = chance
    .shuffled(members)
    .map(([name, value]) => `${gap()}${jsonString(name, chance)}${gap()}:${gap()}${value}${gap()}`);
  return `${gap()}{${written.join(',')}}${gap()}`;
}
