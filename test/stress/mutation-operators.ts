/** Small code changes, made one at a time, that some test should detect. The patterns rely on Biome's formatting. */
import { bare } from '../tidy/sources.ts';

export interface Mutant {
  readonly path: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** Text of the whole file with the change applied. */
  readonly text: string;
}

/** Patterns and their replacements. Comments and strings are removed before matching. */
const operators: readonly (readonly [RegExp, (found: string) => readonly string[]])[] = [
  [/ (?:<=|>=|<|>|===|!==|&&|\|\||\?\?|\+|-|\*\*|\*|\/|%) /g, (found) => exchanged[found.trim()] ?? []],
  [/!(?=[\w(])/g, () => ['']],
  [/\b(?:true|false)\b/g, (found) => [found === 'true' ? 'false' : 'true']],
  [/(?<![\w.#])\d[\d_]*n?\b/g, neighbours],
  [/\b(?:min|max|floor|ceil)(?=\()/g, (found) => exchanged[found] ?? []],
  [
    /\b(?:minuteSeconds|daySeconds|perMinute|perDay|minute|day|episodeFrom|episodeUntil)\b/g,
    (found) => exchanged[found] ?? [],
  ],
  // Removes a statement, or a returned value.
  [
    /(?<=\n) +(?:(?:await )?[\w.#]+\(.*\)|throw .*|[\w.#]+(?:\[\w+\])? (?:[-+*]|\?\?)?= .*|[\w.#]+\+\+);(?=\n)/g,
    () => [''],
  ],
  [/(?<=\breturn )[^;\n]+(?=;)/g, () => ['undefined']],
];

const exchanged: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  min: ['max'],
  max: ['min'],
  floor: ['ceil'],
  ceil: ['floor'],
  minuteSeconds: ['daySeconds'],
  daySeconds: ['minuteSeconds'],
  perMinute: ['perDay'],
  perDay: ['perMinute'],
  minute: ['day'],
  day: ['minute'],
  episodeFrom: ['episodeUntil'],
  episodeUntil: ['episodeFrom'],
};

function neighbours(found: string): string[] {
  const suffix = found.endsWith('n') ? 'n' : '';
  const value = BigInt(found.replaceAll('_', '').replace('n', ''));
  return [`${value + 1n}${suffix}`, value === 0n ? `-1${suffix}` : `${value - 1n}${suffix}`];
}

interface Change {
  readonly from: number;
  readonly to: number;
  readonly after: string;
}

/** Every mutant of a file, except those that change only types or do not parse. */
export function mutantsOf(path: string, text: string): Mutant[] {
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const runs = transpiler.transformSync(text);
  return [...changesIn(text)].flatMap(({ from, to, after }) => {
    const mutated = text.slice(0, from) + after + text.slice(to);
    const line = text.slice(0, from).split('\n').length;
    const before = text.slice(from, to);
    try {
      const isSame = transpiler.transformSync(mutated) === runs;
      return isSame ? [] : [{ path, line, before: before.trim(), after: after.trim(), text: mutated }];
    } catch {
      return [];
    }
  });
}

function* changesIn(text: string): Generator<Change> {
  const code = bare(text);
  for (const [pattern, instead] of operators) {
    for (const { 0: found, index } of code.matchAll(pattern)) {
      const padding = /^ .* $/.test(found) ? ' ' : '';
      for (const after of instead(found)) {
        yield { from: index, to: index + found.length, after: padding + after + padding };
      }
    }
  }
  for (const { index } of code.matchAll(/\bif \(/g)) {
    const from = index + 'if ('.length;
    const to = closing(code, from);
    for (const after of ['true', 'false']) yield { from, to, after };
  }
  for (const { 0: found, index } of text.matchAll(/(?<! from )'[^'\n]+'|`[^`\n]+`/g)) {
    // Skips apostrophes in comments.
    const isString = code.slice(index, index + found.length).trim() === '' && !isComment(text, index);
    if (isString) yield { from: index, to: index + found.length, after: "''" };
  }
}

/** Position of the closing parenthesis that matches the opening parenthesis directly before `from`. */
function closing(code: string, from: number): number {
  let depth = 1;
  for (let at = from; at < code.length; at++) {
    if (code[at] === '(') depth++;
    else if (code[at] === ')' && --depth === 0) return at;
  }
  return code.length;
}

function isComment(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at);
  return /^\s*(?:\/\/|\/?\*)|\s\/\/\s/.test(line);
}
