/** Searches the index of the guides in the browser. Loaded with the index when the search is first used. */
const maxQueryLength = 100;
const maxWords = 8;
const excerptLength = 170;
const beforeMatch = 40;
/** Words of questions that sections with the answer need not contain. */
const fillers = new Set('a an and can do does for how i in is my of on or the to what with'.split(' '));
const startOfWord = '(?<![a-z\\d])';
const endOfWord = '(?![a-z\\d])';
const restOfWord = '[a-z\\d]*';
/** Between two words of a phrase, there may be a short one: "verify the signature". */
const gap = '[^a-z\\d]+(?:[a-z\\d]{1,4}[^a-z\\d]+)?';

/** Returns the start and the end of a word, such as "rotat" and "ing", so that the start also finds "rotate". */
function splitEnding(word) {
  const endings = /^(.{4,}?)(icat(?:es?|ed|ing|ions?)|ations?|ions?|y?ing|ie[sd]|e[sd]?|s|y)$/;
  const [, start = word, end = ''] = endings.exec(word) ?? /^(.{3})(s|y)$/.exec(word) ?? [];
  return [start, end];
}

/** A pattern that finds a word with other endings, and a space instead of a hyphen: api-keys, API key. */
function wordPattern(word, atStart) {
  const [start, end] = splitEnding(word);
  const escaped = start.replace(/[^\w\s]/g, '\\$&').replaceAll('\\-', '[- ]');
  // Three letters start too many other words.
  const rest =
    start.length > 3 || end === '' ? restOfWord : `(?:(?:s|y|ies)?${endOfWord}|${end}${restOfWord})`;
  return (atStart && /^[a-z\d]/.test(start) ? startOfWord : '') + escaped + rest;
}

/** Parses a query of any length into a bounded number of patterns. With `atStart`, they match only the start of words. */
function parseQuery(text, atStart) {
  const all =
    text
      .slice(0, maxQueryLength)
      .toLowerCase()
      .match(/[^\s"'`()?!,;]+/g) ?? [];
  const words = all.map((word) => word.replace(/(.)[.:]+$/, '$1'));
  const telling = words.filter((word) => !fillers.has(word));
  const patterns = (telling.length > 0 ? telling : words)
    .slice(0, maxWords)
    .map((word) => wordPattern(word, atStart));
  const phrase = patterns.join(gap);
  return {
    words: patterns.map((pattern) => new RegExp(pattern, 'i')),
    phrase: new RegExp(`${phrase}|${patterns.toReversed().join(gap)}`, 'i'),
    whole: new RegExp(`^${phrase}$`, 'i'),
    any: new RegExp(patterns.join('|'), 'gi'),
  };
}

/** Rates an entry, with 0 if it lacks a word. A title counts more than a heading, and a heading more than text. */
function score([title, place, text, target, linkTexts = ''], query) {
  const isPage = !target.includes('#');
  const isOperation = target.startsWith('../docs#tag/');
  const isGuide = target.startsWith('guides');
  const titleWeight = isPage ? 8 : 4;
  const fields = [
    [title, titleWeight],
    [place, isOperation ? titleWeight : 2],
    [linkTexts, 2],
    [text, isGuide ? 1 : 0.5],
  ];
  const best = (pattern) => Math.max(...fields.map(([field, weight]) => (pattern.test(field) ? weight : 0)));
  const weights = query.words.map(best);
  if (weights.length === 0 || weights.includes(0)) return 0;
  const isWhole = query.whole.test(title) || (isOperation && query.whole.test(place));
  const whole = isWhole ? titleWeight / 2 : 0;
  const together = weights.length > 1 ? 3 * best(query.phrase) : 0;
  // Otherwise equal texts are compared by how much of them is about the words. Titles have the order of the index.
  const isText = weights.length > 1 || weights[0] <= 1;
  const share = isText ? (text.match(query.any)?.length ?? 0) / (text.length + 2_000) : 0;
  return weights.reduce((one, other) => one + other, whole + together + share);
}

/** Returns the part of a text with most words of the query, split into matches and the text between them. */
function excerptOf(text, { words, phrase, any }) {
  const places = [...text.matchAll(any)].slice(0, 50).map(({ index }) => index);
  const wordsFrom = (place) =>
    words.filter((word) => word.test(text.slice(place, place + excerptLength))).length;
  const together = text.search(phrase);
  const match =
    together >= 0
      ? together
      : places.reduce((one, other) => (wordsFrom(other) > wordsFrom(one) ? other : one), places[0] ?? 0);
  const start = match < 2 * beforeMatch ? 0 : text.lastIndexOf(' ', match - beforeMatch) + 1;
  const isCut = text.length > start + excerptLength;
  const end = isCut
    ? Math.max(text.lastIndexOf(' ', start + excerptLength), match + beforeMatch)
    : text.length;
  const parts = [{ text: start > 0 ? '…\u00a0' : '' }];
  let shown = start;
  for (const { 0: found, index } of text.slice(0, end).matchAll(any)) {
    if (index < start) continue;
    parts.push({ text: text.slice(shown, index) }, { text: found, isMatch: true });
    shown = index + found.length;
  }
  return [...parts, { text: text.slice(shown, end) + (isCut ? '\u00a0…' : '') }];
}

/** Returns the sections that contain every word of a query, the best first, and their number. */
export function createSearch(entries) {
  return (text, maxResults) => {
    const find = (atStart) => {
      const query = parseQuery(text, atStart);
      const found = entries.map((entry) => ({ entry, query, score: score(entry, query) }));
      return found.filter((one) => one.score > 0).sort((one, other) => other.score - one.score);
    };
    // Parts of words count only if no section has the words themselves.
    const [found = []] = [true, false].map(find).filter(({ length }) => length > 0);
    const results = found.slice(0, maxResults).map(({ entry: [title, place, text, target], query }) => {
      return { title, place, target, excerpt: excerptOf(text, query) };
    });
    return { results, count: found.length };
  };
}
