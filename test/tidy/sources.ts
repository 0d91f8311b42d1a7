import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

const root = resolve(import.meta.dir, '../..');

/** Folders that are not part of the project's text: tool folders, and folders in .gitignore. */
const foreign = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', 'generated']);
const textFile =
  /(?:\.(?:ts|tsx|js|mjs|json|md|sql|lua|toml|ya?ml|sh|html|css|txt|csv|env|example|service)|\/(?:run|Dockerfile|LICENSE|\.\w+))$/;

/** A file of the project. */
export interface Source {
  /** Path relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every text file of the project. */
export function projectFiles(): Source[] {
  return readdirSync(root, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.split('/').some((folder) => foreign.has(folder)) && textFile.test(`/${path}`))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** TypeScript files under the given folders. */
export function codeIn(files: readonly Source[], ...folders: string[]): Source[] {
  return files.filter(
    ({ path }) => /\.tsx?$/.test(path) && folders.some((folder) => path.startsWith(`${folder}/`)),
  );
}

/**
 * Matches comments, strings and regular expressions. Because Biome formats the code, a slash that begins a regular
 * expression follows an operator, a bracket or a keyword.
 */
const notCode =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`\\])*`|(?<=(?:[(,=:[!&|?{};+]|\breturn|=>)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;

/** The code with comments, strings and regular expressions replaced by spaces. Line breaks are kept. */
export function bare(text: string): string {
  return text.replace(notCode, (part) => part.replace(/[^\n]/g, ' '));
}

export interface Import {
  /** A package name, or a path relative to the root. */
  readonly target: string;
  /** True if the import is erased at compile time. */
  readonly isType: boolean;
}

/** The static and dynamic imports in a file. */
export function importsOf({ path, text }: Source): Import[] {
  const statements = text.matchAll(
    /^(?:import|export)\s([^;'"]*?)from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm,
  );
  return [...statements].map(([, clause = '', from, dynamic, bareImport]) => {
    const target = from ?? dynamic ?? bareImport ?? '';
    const isLocal = target.startsWith('.');
    return {
      target: isLocal
        ? relative(root, resolve(root, dirname(path), target))
            .split(sep)
            .join('/')
            // Within the client package, imports refer to the compiled files.
            .replace(/^(client\/.*)\.js$/, '$1.ts')
        : target,
      isType: from !== undefined && isTypeClause(clause),
    };
  });
}

function isTypeClause(clause: string): boolean {
  if (clause.startsWith('type ')) return true;
  const names = /^\{([\s\S]*)\}\s*$/.exec(clause.trim())?.[1]?.split(',') ?? [];
  return names.length > 0 && names.every((name) => name.trim() === '' || name.trim().startsWith('type '));
}

/** Throws an error with the advice and the places that violate the rule, unless `places` is empty. */
export function refuse(advice: string, places: readonly string[]): void {
  if (places.length > 0) throw new Error(`${advice}\n  ${places.join('\n  ')}`);
}

/** The lines that match, each as `file:line` with its text. */
export function linesMatching(path: string, text: string, pattern: RegExp): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}
