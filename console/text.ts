/** Formatting of names and other external text within sentences. */
import { printable } from '../src/domain/printable.ts';

/** Letters of scripts that are written from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Makes invisible characters visible. Right-to-left text is isolated (Unicode's UAX 9), so that it does not reorder adjacent
 * words.
 */
export function named(text: string): string {
  const shown = printable(text);
  return rightToLeft.test(shown) ? `\u2068${shown}\u2069` : shown;
}

/** True if the typed text matches the name, in its stored or its displayed form. */
export function isTyped(typed: string, name: string): boolean {
  const plain = typed.replaceAll(/[\u2068\u2069]/g, '').trim();
  return plain === name.trim() || plain === printable(name).trim();
}
