/**
 * Characters that make a terminal do something, show text in another order than it has, or show nothing at all, so that two names
 * look alike: controls, bidi controls, separators of lines, and what is invisible (Unicode's Default_Ignorable_Code_Point).
 */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Where an invisible character changes how its neighbours look: joiners of scripts other than Latin and of emoji, and their variants. */
const inPlace =
  /(?<=[^\0-\u024f\u200b-\u200f])[\u200c\u200d](?=[^\0-\u024f\u200b-\u200f])|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]|\ufe0f(?=\u20e3)/gu;

/** Text from outside as people may be shown it: what is not to be printed is escaped as JSON does, but for `kept`. */
export function printable(text: string, kept = ''): string {
  if (!needsCare.test(text)) return text;
  const places = new Set(Array.from(text.matchAll(inPlace), ({ index }) => index));
  return text.replace(unprintable, (character, index: number) =>
    kept.includes(character) || places.has(index) ? character : escaped(character),
  );
}

const needsCare = new RegExp(unprintable.source, 'u');

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
