/** Characters that make a terminal do something, or show text in another order than it has: controls and bidi controls. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu;

/** Text from outside as a terminal may show it: what is not to be printed is escaped as JSON does, but for `kept`. */
export function printable(text: string, kept = ''): string {
  return text.replace(unprintable, (character) => {
    if (kept.includes(character)) return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
