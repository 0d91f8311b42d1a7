/** Names and other text from outside, as they may stand between words of our own. */
import { printable } from '../src/domain/printable.ts';

/** Letters of scripts that are written from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * The text with what cannot be seen made visible. One that is written from right to left is isolated (Unicode's UAX 9), so that it
 * takes none of the words around it with it.
 */
export function named(text: string): string {
  const shown = printable(text);
  return rightToLeft.test(shown) ? `\u2068${shown}\u2069` : shown;
}

/** Whether somebody typed or copied the name: as it is, or as it is shown. */
export function isTyped(typed: string, name: string): boolean {
  const plain = typed.replaceAll(/[\u2068\u2069]/g, '').trim();
  return plain === name.trim() || plain === printable(name).trim();
}
