/** Rules that other tools do not check. */
import { describe, expect, test } from 'bun:test';
import { bare, codeIn, linesMatching, projectFiles, refuse, type Source } from './sources.ts';

const files = projectFiles();
const code = codeIn(files, 'src', 'sandbox', 'client', 'console', 'test', 'scripts', 'bench');

const longestFunction = 60;

const holdsTest = (line: string) => /^\s*(?:test|describe|check)\w*(?:\.\w+)*\(/.test(line);

/**
 * The functions in a file with their lengths. Because Biome formats the code, a function ends at the first line that
 * closes a brace with the indentation of the function's head. Functions that contain tests do not count.
 */
function functionsIn({ path, text }: Source): { readonly place: string; readonly lines: number }[] {
  const lines = bare(text).split('\n');
  return lines.flatMap((line, start) => {
    if (
      !/(?:=>|\)|\)\s*:.*) \{$/.test(line) ||
      /^\s*(?:\}\s*)?(?:if|for|while|switch|else|catch)\b/.test(line)
    )
      return [];
    const indent = /^ */.exec(line)?.[0] ?? '';
    const length = lines.slice(start).findIndex((next, at) => at > 0 && next.startsWith(`${indent}}`));
    if (length === -1 || (path.startsWith('test/') && lines.slice(start + 1, start + length).some(holdsTest)))
      return [];
    return [{ place: `${path}:${start + 1}`, lines: length + 1 }];
  });
}

describe('code size', () => {
  test(`no function is longer than ${longestFunction} lines`, () => {
    const long = code
      .flatMap(functionsIn)
      .filter(({ lines }) => lines > longestFunction)
      .map(({ place, lines }) => `${place} has ${lines}`);
    refuse('Extract a step into a named function:', long);
  });

  test('is measured correctly for each function', () => {
    const measured = code.flatMap(functionsIn);
    expect(measured.length).toBeGreaterThan(code.length);
    const sample = [
      'function a(): void {',
      '  if (b) {',
      '    c();',
      '  }',
      '}',
      'const d = () => {',
      '};',
      '',
    ];
    expect(functionsIn({ path: 'src/x.ts', text: sample.join('\n') }).map(({ lines }) => lines)).toEqual([
      5, 2,
    ]);
  });
});

describe('leftovers', () => {
  test('no comments mark unfinished work', () => {
    const marks = new RegExp(
      `\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X'.repeat(3), 'HA' + 'CK'].join('|')})\\b`,
    );
    const found = files
      .filter(({ path }) => path !== 'package-lock.json')
      .flatMap(({ path, text }) => linesMatching(path, text, marks));
    refuse('Do the work now, or open an issue and remove the marker:', found);
  });

  test('no debugging output or debugger statements remain', () => {
    const found = codeIn(files, 'src', 'sandbox', 'client', 'console').flatMap(({ path, text }) =>
      linesMatching(path, bare(text), /\bconsole\.(?:log|debug|dir|trace|table)\b|\bdebugger\b/),
    );
    refuse('Use the logger, or say() of src/cli/terminal.ts for people:', found);
  });
});

describe('types', () => {
  test('no `any` types or suppressed errors exist', () => {
    const found = code.flatMap(({ path, text }) => [
      ...linesMatching(path, bare(text), /(?<!\.)\bany\b/),
      ...linesMatching(path, text, /@ts-(?:ignore|expect-error|nocheck)\b(?!.*\|)/),
    ]);
    refuse('Declare the type. For external data, use `unknown` and a check:', found);
  });
});

describe('tests', () => {
  test('are not skipped, focused or marked as todo', () => {
    const found = codeIn(files, 'test').flatMap(({ path, text }) =>
      linesMatching(
        path,
        bare(text),
        /\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo|failing)(?:\.each)?\(|\bx(?:it|describe|test)\(/,
      ),
    );
    refuse('Make the test pass or delete it. A test that does not run checks nothing:', found);
  });
});

describe('URLs and paths', () => {
  test('do not refer to a package registry', () => {
    const pattern = /\bhttps?:\/\/[\w.-]*(?:registry|npmjs|jsr)\b[\w.-]*\.\w+|"resolved"\s*:/;
    const found = files.flatMap(({ path, text }) => linesMatching(path, text, pattern));
    refuse('Remove the registry. Each machine configures its own registry, see .npmrc:', found);
  });

  test('are not specific to one machine', () => {
    const pattern = /(?:^|[\s"'`(=:])\/(?:home|Users|root|work|tmp|private|mnt)\/\w/;
    const found = files.flatMap(({ path, text }) => linesMatching(path, text, pattern));
    refuse('Use a path relative to the project, or os.tmpdir():', found);
  });
});
