import { expect, test } from 'bun:test';
import { escapeUnprintable } from '../../src/domain/escape-unprintable.ts';

test.each([
  ['characters that change the text direction', 'abc\u202edef\u2066g\u200f', 'abc\\u202edef\\u2066g\\u200f'],
  ['line breaks', 'a\nb\u2028c\u2029d\u0085', 'a\\u000ab\\u2028c\\u2029d\\u0085'],
  ['terminal control characters', '\u001b[2J\u0007', '\\u001b[2J\\u0007'],
  ['invisible characters', 'a\u200bb\u00ad\u2060\ufeffc\u3164', 'a\\u200bb\\u00ad\\u2060\\ufeffc\\u3164'],
  ['invisible characters beyond 16 bits', 'a\u{e0041}', 'a\\udb40\\udc41'],
  ['joiners between Latin letters or in pairs', 'a\u200db م\u200c\u200cن', 'a\\u200db م\\u200c\\u200cن'],
  ['lone surrogates', 'a\ud83d', 'a\\ud83d'],
])('%s are escaped', (_, text, shown) => {
  expect(escapeUnprintable(text)).toBe(shown);
});

test.each(['Käthe 🐕‍🦺', '❤️', '1️⃣', '👩🏽‍⚕️', 'می‌خواهم', 'क्‍ष', 'שלום', 'a\u0301'])(
  '%s is printed unchanged',
  (text) => expect(escapeUnprintable(text)).toBe(text),
);

test('characters that the caller excludes are not escaped', () => {
  expect(escapeUnprintable('a\n\t\u202e', '\n')).toBe('a\n\\u0009\\u202e');
});
