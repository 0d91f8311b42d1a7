/**
 * Runs the tests of the selected tiers and prints `N passed, N failed` on the last line. Select tiers with
 * `--tiers=quick,slow,environment,elsewhere`:
 *
 * - `quick` (default, used by `npm test`): formatting, types, and the tests in all folders that are not slow.
 * - `slow`: tests that kill processes, break servers, exhaust connections, drive browsers or install packages, and tests of
 *   PostgreSQL alone.
 * - `environment`: the tests of both kinds whose outcome could depend on the user, the folder, the locale, the time zone or
 *   the number of cores (`quickEnvironmentFolders`, `slowEnvironmentTests`).
 * - `elsewhere`: `environment` again, as another user, on one core, in another locale and order (.ci/elsewhere).
 *
 * The title of each step is a command that runs only this step. A failure does not prevent later steps from running.
 * Other options are passed to `bun test`: `npm test -- --randomize --seed=7`.
 */
import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { buildProgram, builtProgramVariable } from '../test/support/built-program.ts';
import { bundleThreads } from '../test/support/bundled-threads.ts';
import { sharedServers } from '../test/support/shared-servers.ts';
import { testTimeoutMs } from '../test/support/wait.ts';

interface Count {
  readonly passed: number;
  readonly failed: number;
}

interface Step {
  readonly command: readonly string[];
  /** Computes the number of passed and failed tests from the exit code and the output of the command. */
  readonly count: (exitCode: number, output: string) => Count;
  readonly needsServers?: true;
  /** Whether the tests start the service as the executable, in many processes. */
  readonly needsProgram?: true;
  /** Whether temporary files are in memory if possible, for tests that prove nothing about disks. */
  readonly inMemory?: true;
  /** Whether the step runs concurrently with other steps, in which case its output is printed when it ends. */
  readonly beside?: true;
}

const slowFolders = [
  'client-package',
  'console',
  'deploy',
  'faults',
  'generators',
  'postgres',
  'process',
  'robustness',
  'sandbox',
  'supervisor',
];

/**
 * Quick tests that run commands, or format times and names. The others call the service over HTTP or the store, which depend
 * on the user and the folder only through the files that these commands and the processes of the slow tests open.
 */
const quickEnvironmentFolders = ['cli', 'docs', 'domain'];

/**
 * Slow tests that depend on the permissions of a user, on paths in files and printed commands, on the locale or HOME, or on
 * processes that run at the same time. The others start the same service in the same way and then break servers, or only
 * send requests.
 */
const slowEnvironmentTests: Readonly<Record<string, readonly string[]>> = {
  'client-package': ['package', 'served'],
  deploy: ['image', 'systemd'],
  process: [
    'admin',
    'backup',
    'executable',
    'import-resume',
    'npm',
    'output',
    'restore-guide',
    'root-files',
    'samples',
    'serve',
    'start',
    'terminal',
    'tour',
    'unwritable-files',
    'workers-deaths',
    'workers-shared',
    'workers-ticks',
  ],
  sandbox: ['command', 'guide'],
  supervisor: ['supervisor'],
};

/** Timeout of a step. On one busy core, a step takes less than half this time. */
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
    // Quick tests wait for servers and timers about half of the time.
    { ...testsIn(foldersOf(quickFolders()), 2 * availableParallelism() + 1), inMemory: true },
  ],
  // Slow tests start many processes themselves.
  slow: () => [{ ...testsIn(foldersOf(slowFolders), availableParallelism() + 1), needsProgram: true }],
  environment: () => [
    {
      ...testsIn(
        [...foldersOf(quickEnvironmentFolders), ...slowEnvironmentFiles()],
        availableParallelism() + 1,
      ),
      needsProgram: true,
    },
  ],
  elsewhere: () => [{ command: ['.ci/elsewhere'], count: lastCount }],
};

const steps = (tiers ?? 'quick').split(',').flatMap((tier) => {
  const make = stepsOf[tier];
  if (make === undefined) throw new Error(`--tiers takes ${Object.keys(stepsOf).join(', ')}, not "${tier}".`);
  return make();
});

function testsIn(paths: readonly string[], processes: number): Step {
  const command = [
    'bun',
    'test',
    ...paths,
    `--parallel=${processes}`,
    // With isolation, every test file would reload all modules, which would account for a tenth of the run time.
    '--no-isolate',
    '--only-failures',
    `--timeout=${testTimeoutMs}`,
    ...options,
  ];
  return { command, count: testsRun, needsServers: true };
}

/** The trailing slash keeps `test/client/` from matching `test/client-package/`. */
function foldersOf(folders: readonly string[]): string[] {
  return folders.map((folder) => `test/${folder}/`);
}

function slowEnvironmentFiles(): string[] {
  const files = Object.entries(slowEnvironmentTests).flatMap(([folder, names]) =>
    names.map((name) => `test/${folder}/${name}.test.ts`),
  );
  const missing = files.filter((file) => !existsSync(root + file));
  if (missing.length > 0) throw new Error(`slowEnvironmentTests lists missing tests: ${missing.join(', ')}`);
  return files;
}

/** Returns all folders except `slowFolders`, so that new folders need not be listed. */
function quickFolders(): string[] {
  const files = new Bun.Glob('*/*.test.ts').scanSync({ cwd: `${root}test` });
  const folders = new Set(Array.from(files, (file) => file.slice(0, file.indexOf('/'))));
  return [...folders.difference(new Set(slowFolders))].sort();
}

function oneCheck(exitCode: number): Count {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** Parses the summary of `bun test`. Its counts include files that failed to load. */
function testsRun(exitCode: number, output: string): Count {
  return explained(exitCode, lastNumber(output, / *(\d+) pass/), lastNumber(output, / *(\d+) fail/));
}

/** Parses the last line of this script's output. */
function lastCount(exitCode: number, output: string): Count {
  return explained(
    exitCode,
    lastNumber(output, /(\d+) passed, \d+ failed/),
    lastNumber(output, /\d+ passed, (\d+) failed/),
  );
}

/** Counts one failure for a run that stopped early or found no tests. */
function explained(exitCode: number, passed: number, failed: number): Count {
  return { passed, failed: failed === 0 && (exitCode !== 0 || passed === 0) ? 1 : failed };
}

function lastNumber(output: string, { source }: RegExp): number {
  return Number([...output.matchAll(new RegExp(`^${source}$`, 'gm'))].at(-1)?.[1] ?? 0);
}

/** Folder in memory on Linux. Opening a store waits for the disk several times, which takes longer than most tests. */
const memoryPath = '/dev/shm';
/** Containers often have only 64 MiB. The quick tests need less than 1 GiB. */
const neededBytes = 2 * 2 ** 30;

/** The variable that moves temporary files to memory. Undefined if it is set, or there is no such folder or too little space. */
function memoryFolder(): { readonly TMPDIR: string } | undefined {
  if (process.env.TMPDIR !== undefined) return undefined;
  try {
    const { bavail, bsize } = statfsSync(memoryPath);
    return bavail * bsize < neededBytes ? undefined : { TMPDIR: memoryPath };
  } catch {
    return undefined;
  }
}

const skipped = new Set<string>();

async function run({ command, count, needsServers, needsProgram, inMemory, beside }: Step): Promise<Count> {
  await using servers = needsServers ? await sharedServers() : null;
  await using program = needsProgram ? await buildProgram() : null;
  await using threads = needsServers ? await bundleThreads() : null;
  const title = `\n▶ npx ${command.join(' ')}\n`;
  const print: Print = beside ? () => {} : (output) => process.stdout.write(output);
  print(title);
  const child = Bun.spawn([...command], {
    cwd: root,
    env: {
      ...process.env,
      ...servers?.environment,
      ...threads?.environment,
      ...(program && { [builtProgramVariable]: program.path }),
      ...(inMemory && memoryFolder()),
      PATH: `${root}node_modules/.bin:${process.env.PATH}`,
      // Makes Bun keep freed memory. Returning it to the operating system and allocating it again would account for a
      // third of the time spent in the kernel.
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

/** Prints the output of a command while it runs. Returns the complete output without colors. */
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

// The checks run one at a time while the tests run, because the tests are often idle.
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
