/** Checks the `.env` files in a working directory. Bun reads them at startup and silently skips unreadable files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file names, in the order given in Bun's documentation. */
function namesFor(mode: string | undefined): string[] {
  const known = mode === 'production' || mode === 'test' ? mode : 'development';
  return ['.env', `.env.${known}`, '.env.local', `.env.${known}.local`];
}

/**
 * Reports misspelled settings and unreadable files. If they were ignored, the service would start with default settings
 * and an empty store. Unknown names are ignored, because other programs may read the same file.
 */
export function envFileMistakes(
  folder: string,
  mode: string | undefined,
  settingNames: readonly string[],
): string[] {
  return namesFor(mode).flatMap((name) => {
    const text = readIfThere(join(folder, name));
    if (text instanceof Error) {
      return [
        `${name} in the working directory cannot be read (${text.message}). Make it a readable file or move it away.`,
      ];
    }
    return namesIn(text)
      .filter((found) => !settingNames.includes(found))
      .flatMap((found) => {
        const meant = settingNames.find((known) => isMisspelling(found, known));
        return meant === undefined ? [] : [`${name} sets ${found}, which is not a setting. Use ${meant}.`];
      });
  });
}

function readIfThere(path: string): string | Error {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? '' : (error as Error);
  }
}

function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/gm), ([, name = '']) => name);
}

/**
 * Allows only one edit in short names, because unrelated short names are often similar: HOST and HOME differ in two
 * letters.
 */
function isMisspelling(found: string, known: string): boolean {
  return editDistance(found.toUpperCase(), known) <= (known.length > 6 ? 2 : 1);
}

/** Counts insertions, deletions, substitutions and transpositions (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const [above, before] = [rows[i - 1], rows[i - 2]];
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (above?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above?.[j - 1] ?? 0) + cost,
        isSwap ? (before?.[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
