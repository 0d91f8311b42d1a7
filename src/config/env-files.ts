/** Reads the `.env` files in a working directory. Bun's reader is off, because it skips invalid lines silently. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMisspelledSetting } from './misspellings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface EnvFiles {
  /** The variables that the environment does not set. */
  readonly values: Readonly<Record<string, string>>;
  readonly mistakes: readonly string[];
}

/** The file names in ascending precedence, as in Bun. */
function envFileNames(mode: string | undefined): string[] {
  const known = mode === 'production' || mode === 'test' ? mode : 'development';
  return ['.env', `.env.${known}`, '.env.local', `.env.${known}.local`];
}

/**
 * Returns the variables in the files, and every mistake. If mistakes were ignored, the service would start with default
 * settings and an empty store. Unknown names are allowed, because other programs may read the same file.
 */
export function readEnvFiles(
  folder: string,
  environment: Environment,
  settingNames: readonly string[],
): EnvFiles {
  const values: Record<string, string> = {};
  const mistakes: string[] = [];
  for (const file of envFileNames(environment.NODE_ENV)) {
    const text = readIfExists(join(folder, file));
    if (text instanceof Error) {
      mistakes.push(`${file} in the working directory cannot be read: ${text.message}.`);
      continue;
    }
    const read = parseVariables(text, (name) => environment[name] ?? values[name], settingNames);
    mistakes.push(...read.mistakes.map((mistake) => `${file} ${mistake}`));
    for (const [name, value] of Object.entries(read.values)) {
      const meant = findMisspelledSetting(name, settingNames);
      if (meant !== undefined) mistakes.push(`${file} sets ${name}, which is not a setting. Use ${meant}.`);
      if (environment[name] === undefined) values[name] = value;
    }
  }
  return { values, mistakes };
}

/** Returns '' if there is no file. */
function readIfExists(path: string): string | Error {
  try {
    const bytes = readFileSync(path);
    const latin1 = bytes.toString('latin1');
    // Windows PowerShell writes UTF-16. Without a byte order mark, every other byte of ASCII text is 0.
    if (/^(?:\xff\xfe|\xfe\xff|\0[^\0]\0|[^\0]\0[^\0]\0)/.test(latin1)) {
      return new Error('it is UTF-16 text. Save it as UTF-8');
    }
    if (latin1.includes('\0')) return new Error('it contains NUL bytes. Save it as UTF-8 text');
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r\n?/g, '\n');
  } catch (error) {
    if (error instanceof TypeError) return new Error('it is not UTF-8 text. Save it as UTF-8');
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? '' : new Error(`${message}. Make it a readable file or move it away`);
  }
}

type LookUp = (name: string) => string | undefined;

const ignored = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;
const assignment = /[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)[^\S\n]*=[^\S\n]*/y;
/** Values in single quotes or backticks, and in double quotes. They may contain line breaks. */
const quoted =
  /(?:'(?<single>[^']*)'|`(?<backtick>[^`]*)`|"(?<double>(?:\\[\s\S]|[^"\\])*)")[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;
/** Only a `#` after white space begins a comment. */
const unquoted = /(?<bare>(?!['"`])[^\n]*?)(?:(?<=\s)#[^\n]*)?(?:\n|$)/y;
const restOfLine = /[^\n]*(?:\n|$)/y;

/** Mistakes contain no part of a value, because it may be a password. */
function parseVariables(text: string, outer: LookUp, settingNames: readonly string[]): EnvFiles {
  const values: Record<string, string> = {};
  const mistakes: string[] = [];
  const lines = new Map<string, number>();
  const lookUp: LookUp = (name) => outer(name) ?? values[name];
  let position = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position;
    const found = pattern.exec(text);
    if (found !== null) position = pattern.lastIndex;
    return found;
  };
  while (position < text.length) {
    if (next(ignored) !== null) continue;
    const line = text.slice(0, position).split('\n').length;
    const name = next(assignment)?.[1];
    const found = name === undefined ? null : (next(quoted) ?? next(unquoted));
    if (name === undefined) {
      mistakes.push(`line ${line} must be NAME=value, or begin with # if it is a comment.`);
    } else if (found === null) {
      mistakes.push(`line ${line}: the value of ${name} must end with the quote that it begins with.`);
    } else {
      const { single, backtick, double, bare = '' } = found.groups ?? {};
      const literal = single ?? backtick;
      const read =
        literal === undefined
          ? expandVariables(double ?? bare.trim(), double !== undefined, lookUp)
          : literal;
      if (typeof read === 'string') values[name] = read;
      else {
        mistakes.push(
          `line ${line}: the value of ${name} ${read.mistake}. If the $ belongs to the value, put the value in single ` +
            'quotes.',
        );
      }
      const first = lines.get(name);
      if (first === undefined) lines.set(name, line);
      else if (settingNames.includes(name))
        mistakes.push(`lines ${first} and ${line} both set ${name}. Remove one of them.`);
    }
    if (found === null) next(restOfLine);
  }
  return { values, mistakes };
}

/** A default contains no `$`, because a variable in it would not be replaced. */
const special = /\\([nr"$])|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}$]*))?\}|\{)/g;
const lineBreaks: Readonly<Record<string, string>> = { n: '\n', r: '\r' };

/**
 * Resolves `$NAME`, `${NAME}`, `${NAME:-default}` and escapes. Without quotes, `\$` is the only escape, so that Windows
 * paths are unchanged.
 */
function expandVariables(
  text: string,
  isQuoted: boolean,
  lookUp: LookUp,
): string | { readonly mistake: string } {
  let mistake: string | undefined;
  const value = text.replace(special, (all, escaped, plain, braced, fallback) => {
    if (escaped !== undefined) return isQuoted || escaped === '$' ? (lineBreaks[escaped] ?? escaped) : all;
    const name: string | undefined = plain ?? braced;
    if (name === undefined) {
      mistake ??= `contains $\{…} that is neither $\{NAME} nor $\{NAME:-default} with a default without $`;
      return '';
    }
    const found = lookUp(name);
    const result = fallback === undefined ? found : found || fallback;
    if (result === undefined) mistake ??= 'refers to a variable that is not set';
    return result ?? '';
  });
  return mistake === undefined ? value : { mistake };
}
