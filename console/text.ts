/** Formats names and other external text for use in sentences. */
import { escapeUnprintable } from '../src/domain/escape-unprintable.ts';

/** Matches letters of right-to-left scripts. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Makes invisible characters visible, and isolates right-to-left text (Unicode UAX 9), so that it does not
 * reorder adjacent words.
 */
export function quoteName(text: string): string {
  const shown = escapeUnprintable(text);
  return rightToLeft.test(shown) ? `\u2068${shown}\u2069` : shown;
}

/** Whether the typed text matches the name as it is stored or as it is displayed. */
export function isTyped(typed: string, name: string): boolean {
  const plain = typed.replaceAll(/[\u2068\u2069]/g, '').trim();
  return plain === name.trim() || plain === escapeUnprintable(name).trim();
}
