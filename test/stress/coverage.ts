/**
 * Measures line and branch coverage of the core in tests that run in one process. Code that runs only in child
 * processes counts as uncovered.
 */
import { join, relative } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import type { StressResult, StressTest } from './stress-test.ts';

const leastCovered = 0.98;
/**
 * Folders whose coverage is checked. The command line and the networked stores are excluded, because their tests run
 * mostly in child processes.
 */
const core = ['contract', 'domain', 'http', 'limits/file', 'operations', 'storage/sqlite'];
const tests = ['test/domain', 'test/api', 'test/operations', 'test/storage', 'test/contract', 'test/http'];

/** A line or branch, and the number of times it was executed. */
interface Taken {
  readonly path: string;
  readonly line: number;
  readonly count: number;
}

/** Coverage of a file in istanbul's format. */
interface FileBranches {
  readonly branchMap: Readonly<Record<string, { readonly loc: Location; readonly locations: Location[] }>>;
  readonly b: Readonly<Record<string, readonly number[]>>;
}

interface Location {
  readonly start: { readonly line?: number };
}

async function linesTaken(folder: string): Promise<Taken[]> {
  await runTests(['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`]);
  const lcov = await Bun.file(join(folder, 'lcov.info')).text();
  let path = '';
  return lcov.split('\n').flatMap((row) => {
    if (row.startsWith('SF:')) path = row.slice(3);
    const [, line, count] = /^DA:(\d+),(\d+)/.exec(row) ?? [];
    return line === undefined ? [] : [{ path, line: Number(line), count: Number(count) }];
  });
}

async function branchesTaken(folder: string): Promise<Taken[]> {
  const file = join(folder, 'branches.json');
  await runTests(['--preload', join(import.meta.dir, 'branches.ts')], { BRANCHES: file });
  const files = (await Bun.file(file).json()) as Record<string, FileBranches>;
  return Object.entries(files).flatMap(([path, { b, branchMap }]) =>
    Object.entries(b).flatMap(([id, counts]) => {
      const branch = branchMap[id];
      // A missing `else` branch has no location.
      const lineOf = (index: number) => branch?.locations[index]?.start.line ?? branch?.loc.start.line ?? 0;
      return counts.map((count, index) => ({ path: relative(root, path), line: lineOf(index), count }));
    }),
  );
}

async function runTests(options: readonly string[], environment: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn([process.execPath, 'test', ...options, ...tests], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`The tests fail:\n${said.slice(-2_000)}`);
}

/** Summarizes coverage. Throws if coverage is too low in any folder (for `each`) or in total (for `all`). */
function figuresOf(what: string, taken: readonly Taken[], bound: 'each' | 'all'): StressResult {
  const parts = core.map((name) => taken.filter(({ path }) => path.startsWith(`src/${name}/`)));
  const part = (of: readonly Taken[]) => of.filter(({ count }) => count > 0).length / of.length;
  const percent = (of: readonly Taken[]) => Math.floor(part(of) * 1_000) / 10;
  const all = parts.flat();
  const figures = {
    [`${what} of the core`]: all.length,
    [`${what} in %`]: percent(all),
    ...Object.fromEntries(
      core.map((name, index) => [`${what} of ${name}/ in %`, percent(parts[index] ?? [])]),
    ),
    [`${what} missed`]: all
      .filter(({ count }) => count === 0)
      .map(({ path, line }) => `${path}:${line}`)
      .join(' '),
  };
  const bounded = bound === 'each' ? parts : [all];
  if (!bounded.every((of) => part(of) >= leastCovered))
    throw new Error(JSON.stringify(figures, undefined, 2));
  return figures;
}

export const coverage: StressTest = {
  name: 'coverage',
  promise: `tests in one process run at least ${leastCovered * 100} % of the lines in each of ${core.join(', ')}, and of all their branches combined`,
  rounds: 1,
  async run() {
    await using folder = await temporaryFolder();
    return {
      ...figuresOf('lines', await linesTaken(folder.path), 'each'),
      ...figuresOf('branches', await branchesTaken(folder.path), 'all'),
    };
  },
};
