/** Line coverage of the core by the whole test run. Code that only child processes run counts as not run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import type { Figures, Proof } from './proof.ts';

const leastCovered = 0.98;
/** What has to be covered; command line and networked stores mostly run as processes of their own. */
const core = ['contract', 'domain', 'http', 'operations', 'storage/sqlite'];
const tests = ['test/domain', 'test/api', 'test/operations', 'test/storage', 'test/contract', 'test/http'];

interface Lines {
  found: number;
  hit: number;
  readonly missed: string[];
}

/** Reads lcov: `SF:` begins a file, `DA:line,count` is a line of it. */
function linesOf(lcov: string): Map<string, Lines> {
  const byFolder = new Map<string, Lines>();
  let path = '';
  for (const row of lcov.split('\n')) {
    if (row.startsWith('SF:')) path = row.slice(3);
    const [, line, count] = /^DA:(\d+),(\d+)/.exec(row) ?? [];
    const folder = core.find((name) => path.startsWith(`src/${name}/`));
    if (line === undefined || folder === undefined) continue;
    const lines = byFolder.get(folder) ?? { found: 0, hit: 0, missed: [] };
    byFolder.set(folder, lines);
    lines.found++;
    if (count === '0') lines.missed.push(`${path}:${line}`);
    else lines.hit++;
  }
  return byFolder;
}

async function covered(): Promise<Figures> {
  await using folder = await temporaryFolder();
  const options = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder.path}`];
  const child = Bun.spawn([process.execPath, 'test', ...options, ...tests], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`The tests fail:\n${said.slice(-2_000)}`);
  const byFolder = linesOf(readFileSync(join(folder.path, 'lcov.info'), 'utf8'));
  const percent = ({ hit, found }: Lines) => Math.floor((hit / found) * 1_000) / 10;
  const all = { found: 0, hit: 0, missed: [...byFolder.values()].flatMap(({ missed }) => missed) };
  for (const { found, hit } of byFolder.values()) {
    all.found += found;
    all.hit += hit;
  }
  const figures = {
    'lines in %': percent(all),
    ...Object.fromEntries([...byFolder].map(([name, lines]) => [`${name}/`, percent(lines)])),
    missed: all.missed.join(' '),
  };
  const low = [...byFolder].some(([, { hit, found }]) => hit / found < leastCovered);
  if (low || byFolder.size !== core.length) throw new Error(JSON.stringify(figures, undefined, 2));
  return figures;
}

export const coverage: Proof = {
  name: 'coverage',
  promise: `tests in one process run at least ${leastCovered * 100} % of the lines of ${core.join(', ')}`,
  rounds: 1,
  run: covered,
};
