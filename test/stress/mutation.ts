/** Mutation testing. The tests must detect nearly every small change to the rules and to the pipeline. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { type Mutant, mutantsOf } from './mutation-operators.ts';
import type { StressTest } from './stress-test.ts';

const leastKilled = 0.9;
/**
 * A mutant counts as detected if the tests take this many times their normal duration, because the mutant probably
 * makes them hang.
 */
const timeoutFactor = 5;
const leastTimeoutMs = 20_000;
/** Timeout for running the tests without a mutant. */
const suiteTimeoutMs = 300_000;
const workers = 2;

/** Files and folders that the tests need. Nothing else is copied. */
const copied = [
  'src',
  'sandbox',
  'test',
  'scripts',
  'contract',
  'docs',
  'assets',
  'package.json',
  'tsconfig.json',
];

const rules = readdirSync(join(root, 'src/domain'))
  .map((name) => `src/domain/${name}`)
  .concat('src/limits/limit.ts', 'src/limits/ban-status.ts');
const edge = ['src/http/pipeline/pipeline.ts', 'src/http/pipeline/reply.ts'];

/** Slow tests of other code, which are skipped. */
const slow = new Set(['counting.test.ts', 'bodies.test.ts']);
const api = readdirSync(join(root, 'test/api'))
  .filter((name) => !slow.has(name))
  .map((name) => `test/api/${name}`)
  .concat('test/storage/every-operation.test.ts');
const processes = ['test/http', 'test/process/logs.test.ts', 'test/faults/disk.test.ts'];
const domainTests = readdirSync(join(root, 'test/domain')).filter((name) => name.endsWith('.test.ts'));
const quickApi = ['test/api/every-operation.test.ts', 'test/api/cors.test.ts'];

/** Test suites for a mutated file. Fast suites run first, because they detect most mutants. */
function suitesFor(path: string): readonly (readonly string[])[] {
  if (edge.includes(path)) return [quickApi, api, processes];
  const subject = basename(path, '.ts');
  const own = domainTests.filter((name) => name.startsWith(subject)).map((name) => `test/domain/${name}`);
  return [...(own.length > 0 ? [own] : []), ['test/storage/sqlite-limits.test.ts', ...api]];
}

type Fate = 'killed' | 'timed out' | 'survived';

/** A copy of the project in which the mutants are tested one after the other. */
class Copy {
  readonly #folder: string;
  readonly #temporary: string;
  readonly #timeoutsMs = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
    this.#temporary = join(folder, 'temporary');
    mkdirSync(this.#temporary);
    for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  }

  /** Throws unless the tests pass without a mutant. */
  async expectSound(paths: readonly string[]): Promise<void> {
    const suites = paths.flatMap(suitesFor);
    for (const suite of new Map(suites.map((suite) => [suite.join(), suite])).values()) {
      const from = performance.now();
      const fate = await this.#fateUnder(suite, suiteTimeoutMs);
      if (fate !== 'survived') throw new Error(`Without a mutant, ${suite.join(' ')} is ${fate}.`);
      const timeoutMs = Math.max(leastTimeoutMs, Math.ceil((performance.now() - from) * timeoutFactor));
      this.#timeoutsMs.set(suite.join(), timeoutMs);
    }
  }

  async fateOf({ path, text }: Mutant): Promise<Fate> {
    const file = join(this.#folder, path);
    const original = readFileSync(file, 'utf8');
    writeFileSync(file, text);
    try {
      for (const suite of suitesFor(path)) {
        const fate = await this.#fateUnder(suite, this.#timeoutsMs.get(suite.join()) ?? suiteTimeoutMs);
        if (fate !== 'survived') return fate;
      }
      return 'survived';
    } finally {
      writeFileSync(file, original);
    }
  }

  async #fateUnder(suite: readonly string[], timeout: number): Promise<Fate> {
    const command = [process.execPath, 'test', '--bail=1', `--timeout=${testTimeoutMs}`, ...suite];
    const child = Bun.spawn(command, {
      cwd: this.#folder,
      // Temporary folders left by aborted tests are deleted along with the copy.
      env: { ...process.env, TMPDIR: this.#temporary },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
      timeout,
      killSignal: 'SIGKILL',
    });
    const exitCode = await child.exited;
    if (child.signalCode !== null) return 'timed out';
    return exitCode === 0 ? 'survived' : 'killed';
  }
}

function described({ path, line, before, after }: Mutant): string {
  return `${path}:${line} ${before} → ${after || 'nothing'}`;
}

/** Up to `most` mutants, in a random order determined by the seed. */
function chosen(most: number, seed: number): Mutant[] {
  const random = randomFrom(seed);
  const all = [...rules, ...edge].flatMap((path) => mutantsOf(path, readFileSync(join(root, path), 'utf8')));
  const ordered = all.map((mutant) => ({ mutant, rank: random() })).sort((a, b) => a.rank - b.rank);
  return ordered.slice(0, most).map(({ mutant }) => mutant);
}

export const mutation: StressTest = {
  name: 'mutation',
  promise: `the tests detect at least ${leastKilled * 100} % of small changes to domain/, the rules of limits, pipeline.ts and reply.ts`,
  rounds: 10_000,
  async run({ rounds, seed, progress }) {
    const mutants = chosen(rounds, seed);
    const fates = new Map<Mutant, Fate>();
    let next = 0;
    const work = async () => {
      await using folder = await temporaryFolder();
      const copy = new Copy(folder.path);
      await copy.expectSound([...rules, ...edge]);
      for (let mutant = mutants[next++]; mutant !== undefined; mutant = mutants[next++]) {
        const fate = await copy.fateOf(mutant);
        fates.set(mutant, fate);
        progress(`${fates.size} of ${mutants.length} mutants, ${fate}: ${described(mutant)}`);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));

    const count = (fate: Fate) => [...fates.values()].filter((one) => one === fate).length;
    const survivors = [...fates]
      .filter(([, fate]) => fate === 'survived')
      .map(([mutant]) => described(mutant))
      .sort();
    const killed = 1 - survivors.length / mutants.length;
    const figures = {
      mutants: mutants.length,
      killed: count('killed'),
      'timed out': count('timed out'),
      survived: survivors.length,
      'detected in %': Math.floor(killed * 1_000) / 10,
      survivors: survivors.join('\n  '),
    };
    if (killed < leastKilled) throw new Error(JSON.stringify(figures, undefined, 2));
    return figures;
  },
};
