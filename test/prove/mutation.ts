/** Mutation testing: the tests have to notice nearly every small change to the law and to the pipeline. */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { type Mutant, mutantsOf } from './mutation-operators.ts';
import type { Proof } from './proof.ts';

const leastKilled = 0.9;
/** Tests that take longer than this with a mutant have noticed it: it makes them hang. */
const timeoutMs = 120_000;
const workers = 2;

/** What the tests need beside the code; the rest stays where it is. */
const copied = ['src', 'test', 'scripts', 'contract', 'docs', 'assets', 'package.json', 'tsconfig.json'];

const law = readdirSync(join(root, 'src/domain')).map((name) => `src/domain/${name}`);
const edge = ['src/http/pipeline.ts', 'src/http/replies.ts'];

/** Cheap tests first: most mutants do not outlive them. */
function suitesFor(path: string): readonly (readonly string[])[] {
  if (edge.includes(path)) return [['test/api'], ['test/process/logs.test.ts']];
  return [
    ['test/domain'],
    ['test/storage/sqlite-limits.test.ts', 'test/storage/limits.test.ts'],
    ['test/api'],
  ];
}

type Fate = 'killed' | 'timed out' | 'survived';

/** A copy of the project in which one mutant after the other lives. */
async function runIn(folder: string, mutant: Mutant): Promise<Fate> {
  const file = join(folder, mutant.path);
  const original = readFileSync(file, 'utf8');
  writeFileSync(file, mutant.text);
  try {
    for (const suite of suitesFor(mutant.path)) {
      const fate = await fateUnder(folder, suite);
      if (fate !== 'survived') return fate;
    }
    return 'survived';
  } finally {
    writeFileSync(file, original);
  }
}

async function fateUnder(folder: string, suite: readonly string[]): Promise<Fate> {
  const child = Bun.spawn([process.execPath, 'test', '--bail=1', ...suite], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const exitCode = await child.exited;
  if (child.signalCode !== null) return 'timed out';
  return exitCode === 0 ? 'survived' : 'killed';
}

function copyTo(folder: string): void {
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/** Without a mutant the tests have to pass, or nothing they say counts. */
async function expectSound(folder: string): Promise<void> {
  for (const suite of new Set([...law, ...edge].flatMap(suitesFor).map((paths) => paths.join(' ')))) {
    const fate = await fateUnder(folder, suite.split(' '));
    if (fate !== 'survived') throw new Error(`Without any change, ${suite} is ${fate}.`);
  }
}

function told({ path, line, before, after }: Mutant): string {
  return `${path}:${line} ${before} → ${after || 'nothing'}`;
}

/** That many mutants, in an order of the seed's. */
function chosen(most: number, seed: number): Mutant[] {
  const random = randomFrom(seed);
  const all = [...law, ...edge].flatMap((path) => mutantsOf(path, readFileSync(join(root, path), 'utf8')));
  const ordered = all.map((mutant) => ({ mutant, rank: random() })).sort((a, b) => a.rank - b.rank);
  return ordered.slice(0, most).map(({ mutant }) => mutant);
}

export const mutation: Proof = {
  name: 'mutation',
  promise: `the tests notice at least ${leastKilled * 100} % of small changes to domain/, pipeline.ts and replies.ts`,
  rounds: 10_000,
  async run({ rounds, seed, progress }) {
    const mutants = chosen(rounds, seed);
    const fates = new Map<Mutant, Fate>();
    let next = 0;
    const work = async () => {
      await using folder = await temporaryFolder();
      copyTo(folder.path);
      await expectSound(folder.path);
      for (let mutant = mutants[next++]; mutant !== undefined; mutant = mutants[next++]) {
        const fate = await runIn(folder.path, mutant);
        fates.set(mutant, fate);
        progress(`${fates.size} of ${mutants.length} mutants, ${fate}: ${told(mutant)}`);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));

    const count = (fate: Fate) => [...fates.values()].filter((one) => one === fate).length;
    const survivors = [...fates]
      .filter(([, fate]) => fate === 'survived')
      .map(([mutant]) => told(mutant))
      .sort();
    const killed = 1 - survivors.length / mutants.length;
    const figures = {
      mutants: mutants.length,
      killed: count('killed'),
      'timed out': count('timed out'),
      survived: survivors.length,
      'noticed in %': Math.floor(killed * 1_000) / 10,
      survivors: survivors.join('\n  '),
    };
    if (killed < leastKilled) throw new Error(JSON.stringify(figures, undefined, 2));
    return figures;
  },
};
