/**
 * Characters that control a terminal, change the text direction, or are invisible and would make two names look alike:
 * controls, bidi controls, line separators, and Unicode's Default_Ignorable_Code_Point.
 */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/**
 * Invisible characters that change the appearance of their neighbors: joiners of non-Latin scripts and emoji,
 * and variation selectors.
 */
const inPlace =
  /(?<=[^\0-\u024f\u200b-\u200f])[\u200c\u200d](?=[^\0-\u024f\u200b-\u200f])|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]|\ufe0f(?=\u20e3)/gu;

/** Prepares external text for display: unprintable characters, except those in `kept`, are escaped as in JSON. */
export function escapeUnprintable(text: string, kept = ''): string {
  if (!needsCare.test(text)) return text;
  const places = new Set(Array.from(text.matchAll(inPlace), ({ index }) => index));
  return text.replace(unprintable, (character, index: number) =>
    kept.includes(character) || places.has(index) ? character : escapeCharacter(character),
  );
}

const needsCare = new RegExp(unprintable.source, 'u');

function escapeCharacter(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
