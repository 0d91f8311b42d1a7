/**
 * Runs the checks of some tiers and prints `N passed, N failed` last. Tiers are named by `--tiers=quick,slow,elsewhere`:
 *
 * - `quick`, the default: format, types, and the tests of all folders that are not slow. `npm test` is this tier.
 * - `slow`: tests that kill processes, break servers, drive browsers or install packages.
 * - `elsewhere`: both again as another user, on one core, in another locale and in random order (.ci/elsewhere).
 *
 * Each step is titled with the command that repeats it alone, and a failure does not stop the steps after it.
 * Other options are passed to `bun test`: `npm test -- --randomize --seed=7`.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { sharedServers } from '../test/support/shared-servers.ts';
import { testTimeoutMs } from '../test/support/wait.ts';

interface Count {
  readonly passed: number;
  readonly failed: number;
}

interface Step {
  readonly command: readonly string[];
  /** The result of the finished command, from its exit code and its output. */
  readonly count: (exitCode: number, output: string) => Count;
  readonly needsServers?: true;
  /** Runs while other steps do. Its output is printed when it ends. */
  readonly beside?: true;
}

/** The folders of `test/` whose tests kill processes, break servers, drive browsers, install packages or take long. */
const slowFolders = [
  'client-package',
  'console',
  'deploy',
  'faults',
  'generators',
  'process',
  'robustness',
  'sandbox',
  'supervisor',
];

/** Ends a step that hangs. One busy core needs less than half of it. */
const stepTimeoutMs = 2_400_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const tiersOption = '--tiers=';
const tiers = process.argv
  .findLast((argument) => argument.startsWith(tiersOption))
  ?.slice(tiersOption.length);
const options = process.argv.slice(2).filter((argument) => !argument.startsWith(tiersOption));

const checks = [
  ['biome', 'ci', '--colors=off'],
  ['tsc', '--noEmit'],
  ['tsc', '--noEmit', '--project', 'console'],
  ['tsc', '--noEmit', '--project', 'client'],
];

const stepsOf: Readonly<Record<string, () => readonly Step[]>> = {
  quick: () => [
    ...checks.map((command) => ({ command, count: oneCheck, beside: true }) as const),
    testsIn(quickFolders()),
  ],
  slow: () => [testsIn(slowFolders)],
  elsewhere: () => [{ command: ['.ci/elsewhere'], count: lastCount }],
};

const steps = (tiers ?? 'quick').split(',').flatMap((tier) => {
  const make = stepsOf[tier];
  if (make === undefined) throw new Error(`--tiers takes ${Object.keys(stepsOf).join(', ')}, not "${tier}".`);
  return make();
});

function testsIn(folders: readonly string[]): Step {
  const command = [
    'bun',
    'test',
    // The slash keeps `test/client/` from matching `test/client-package/`.
    ...folders.map((folder) => `test/${folder}/`),
    // One more than there are cores, because some tests spend most of their time waiting.
    `--parallel=${availableParallelism() + 1}`,
    // Loading all modules again for each file takes a tenth of the time.
    '--no-isolate',
    '--only-failures',
    `--timeout=${testTimeoutMs}`,
    ...options,
  ];
  return { command, count: testsRun, needsServers: true };
}

/** Every other folder, so that the tests of a new one run without being listed. */
function quickFolders(): string[] {
  const files = new Bun.Glob('*/*.test.ts').scanSync({ cwd: `${root}test` });
  const folders = new Set(Array.from(files, (file) => file.slice(0, file.indexOf('/'))));
  return [...folders.difference(new Set(slowFolders))].sort();
}

function oneCheck(exitCode: number): Count {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** Reads bun's summary, which also counts files that could not be loaded. */
function testsRun(exitCode: number, output: string): Count {
  return explained(exitCode, lastNumber(output, / *(\d+) pass/), lastNumber(output, / *(\d+) fail/));
}

/** Reads the last line that this script prints. */
function lastCount(exitCode: number, output: string): Count {
  return explained(
    exitCode,
    lastNumber(output, /(\d+) passed, \d+ failed/),
    lastNumber(output, /\d+ passed, (\d+) failed/),
  );
}

/** A run that stopped early or found no tests counts as one failure. */
function explained(exitCode: number, passed: number, failed: number): Count {
  return { passed, failed: failed === 0 && (exitCode !== 0 || passed === 0) ? 1 : failed };
}

function lastNumber(output: string, { source }: RegExp): number {
  return Number([...output.matchAll(new RegExp(`^${source}$`, 'gm'))].at(-1)?.[1] ?? 0);
}

const skipped = new Set<string>();

async function run({ command, count, needsServers, beside }: Step): Promise<Count> {
  await using servers = needsServers ? await sharedServers() : null;
  const title = `\n▶ npx ${command.join(' ')}\n`;
  const print: Print = beside ? () => {} : (output) => process.stdout.write(output);
  print(title);
  const child = Bun.spawn([...command], {
    cwd: root,
    env: {
      ...process.env,
      ...servers?.environment,
      PATH: `${root}node_modules/.bin:${process.env.PATH}`,
      // Bun keeps the memory of ended stores and apps. Returning and reallocating it takes a third of the
      // kernel's time.
      MIMALLOC_PURGE_DELAY: '-1',
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: stepTimeoutMs,
  });
  const [output, errors] = await Promise.all([read(child.stdout, print), read(child.stderr, print)]);
  if (beside) process.stdout.write(title + output + errors);
  for (const [line] of (output + errors).matchAll(/^SKIPPED: .*$/gm)) skipped.add(line);
  return count(await child.exited, output + errors);
}

type Print = (output: Uint8Array | string) => void;

/** Prints a command's output while it runs, and returns all of it without colours. */
async function read(stream: ReadableStream<Uint8Array>, print: Print): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    print(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  return Bun.stripANSI(text);
}

async function runInTurn(inTurn: readonly Step[]): Promise<Count[]> {
  const counts: Count[] = [];
  for (const step of inTurn) counts.push(await run(step));
  return counts;
}

// The checks run in sequence, concurrently with the tests, which often wait.
const { beside = [], alone = [] } = Object.groupBy(steps, (step) => (step.beside ? 'beside' : 'alone'));
const counts = (await Promise.all([runInTurn(beside), runInTurn(alone)])).flat();
const total = { passed: 0, failed: 0 };
for (const { passed, failed } of counts) {
  total.passed += passed;
  total.failed += failed;
}
process.exitCode = total.failed === 0 ? 0 : 1;
if (skipped.size > 0) process.stdout.write(`\n${[...skipped].join('\n')}\n`);
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`);
