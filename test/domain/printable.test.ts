import { expect, test } from 'bun:test';
import { printable } from '../../src/domain/printable.ts';

test.each([
  ['the order of text', 'abc\u202edef\u2066g\u200f', 'abc\\u202edef\\u2066g\\u200f'],
  ['lines', 'a\nb\u2028c\u2029d\u0085', 'a\\u000ab\\u2028c\\u2029d\\u0085'],
  ['terminals', '\u001b[2J\u0007', '\\u001b[2J\\u0007'],
  ['nothing that can be seen', 'a\u200bb\u00ad\u2060\ufeffc\u3164', 'a\\u200bb\\u00ad\\u2060\\ufeffc\\u3164'],
  ['nothing, beyond 16 bits', 'a\u{e0041}', 'a\\udb40\\udc41'],
  ['nothing between Latin letters, or twice', 'a\u200db م\u200c\u200cن', 'a\\u200db م\\u200c\\u200cن'],
  ['half a character', 'a\ud83d', 'a\\ud83d'],
])('text that changes %s is escaped', (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test.each(['Käthe 🐕‍🦺', '❤️', '1️⃣', '👩🏽‍⚕️', 'می‌خواهم', 'क्‍ष', 'שלום', 'a\u0301'])(
  '%s is printed unchanged',
  (text) => expect(printable(text)).toBe(text),
);

test('stored text is not escaped', () => {
  expect(printable('a\n\t\u202e', '\n')).toBe('a\n\\u0009\\u202e');
});
