/**
 * All checks, in order: each step is titled with the command that repeats it alone, none stops the others, and the
 * last line counts what passed and what failed. Options are those of `bun test`: `npm test -- --randomize --seed=7`.
 */
import { fileURLToPath } from 'node:url';
import { testTimeoutMs } from '../test/support/wait.ts';

interface Count {
  readonly passed: number;
  readonly failed: number;
}

interface Step {
  readonly command: readonly string[];
  /** What the finished command counts for, from its exit code and its output. */
  readonly count: (exitCode: number, output: string) => Count;
}

const testOptions = [
  '--parallel',
  '--only-failures',
  `--timeout=${testTimeoutMs}`,
  // Load and long faults take minutes; they have scripts of their own.
  '--path-ignore-patterns=test/stress/**',
  ...process.argv.slice(2),
];

const steps: readonly Step[] = [
  { command: ['biome', 'ci', '--colors=off'], count: oneCheck },
  { command: ['tsc', '--noEmit'], count: oneCheck },
  { command: ['tsc', '--noEmit', '--project', 'console'], count: oneCheck },
  { command: ['tsc', '--noEmit', '--project', 'client'], count: oneCheck },
  { command: ['bun', 'test', ...testOptions], count: testsRun },
];

/** A step that hangs is ended, and so fails; one core of a busy machine takes a tenth of this. */
const stepTimeoutMs = 2_400_000;

const root = fileURLToPath(new URL('..', import.meta.url));

function oneCheck(exitCode: number): Count {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** Reads bun's own summary, which also counts files that could not be loaded. */
function testsRun(exitCode: number, output: string): Count {
  const passed = lastNumber(output, 'pass');
  const failed = lastNumber(output, 'fail');
  // A run that broke off, or found nothing to run, is a failure too, though no test failed.
  const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: unexplained ? 1 : failed };
}

function lastNumber(output: string, noun: string): number {
  return Number([...output.matchAll(new RegExp(`^ *(\\d+) ${noun}$`, 'gm'))].at(-1)?.[1] ?? 0);
}

const skipped = new Set<string>();

async function run({ command, count }: Step): Promise<Count> {
  process.stdout.write(`\n▶ npx ${command.map(quoted).join(' ')}\n`);
  const child = Bun.spawn([`${root}node_modules/.bin/${command[0]}`, ...command.slice(1)], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: stepTimeoutMs,
  });
  const [output, errors] = await Promise.all([shown(child.stdout), shown(child.stderr)]);
  for (const [line] of (output + errors).matchAll(/^SKIPPED: .*$/gm)) skipped.add(line);
  return count(await child.exited, output + errors);
}

/** Passes a command's output on while it runs, and returns all of it without colours. */
async function shown(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    process.stdout.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  return Bun.stripANSI(text);
}

function quoted(argument: string): string {
  return /^[\w./=-]+$/.test(argument) ? argument : `'${argument}'`;
}

const total = { passed: 0, failed: 0 };
for (const step of steps) {
  const { passed, failed } = await run(step);
  total.passed += passed;
  total.failed += failed;
}
process.exitCode = total.failed === 0 ? 0 : 1;
if (skipped.size > 0) process.stdout.write(`\n${[...skipped].join('\n')}\n`);
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`);
