/**
 * The stress tests, which take too long for `npm test`: `npm run stress -- [--only NAME] [--rounds N | --minutes N] [--seed N]`.
 * Each says its seed, so that a failure can be repeated; a summary in Markdown and the count come last.
 */
import { parseArgs } from 'node:util';
import { auditTests } from '../test/stress/audit.ts';
import { backup } from '../test/stress/backup.ts';
import { backupRate } from '../test/stress/backup-rate.ts';
import { buyersTests } from '../test/stress/buyers.ts';
import { clientOnceTests } from '../test/stress/client-once.ts';
import { clientRestart } from '../test/stress/client-restart.ts';
import { clientWalkTests } from '../test/stress/client-walk.ts';
import { clientWorkers } from '../test/stress/client-workers.ts';
import { clusterTests } from '../test/stress/cluster.ts';
import { coverage } from '../test/stress/coverage.ts';
import { crowd } from '../test/stress/crowd.ts';
import { disk } from '../test/stress/disk.ts';
import { drain } from '../test/stress/drain.ts';
import { httpTests } from '../test/stress/http.ts';
import { killTests } from '../test/stress/kill.ts';
import { limitWorkers } from '../test/stress/limit-workers.ts';
import { limits } from '../test/stress/limits.ts';
import { mutation } from '../test/stress/mutation.ts';
import { onceTests } from '../test/stress/once.ts';
import { partitions } from '../test/stress/partitions.ts';
import { power } from '../test/stress/power.ts';
import { publicPages } from '../test/stress/public.ts';
import { rolling } from '../test/stress/rolling.ts';
import { sandboxes } from '../test/stress/sandboxes.ts';
import { soak } from '../test/stress/soak.ts';
import { stop } from '../test/stress/stop.ts';
import type { StressTest } from '../test/stress/stress-test.ts';
import { syscalls } from '../test/stress/syscalls.ts';
import { upgradeTests } from '../test/stress/upgrade.ts';
import { walkTests } from '../test/stress/walk.ts';
import { workersTests } from '../test/stress/workers.ts';

const stressTests: readonly StressTest[] = [
  ...killTests,
  ...auditTests,
  backup,
  backupRate,
  disk,
  drain,
  stop,
  limits,
  syscalls,
  ...workersTests,
  limitWorkers,
  ...clusterTests,
  ...buyersTests,
  ...walkTests,
  ...onceTests,
  ...clientOnceTests,
  clientWorkers,
  clientRestart,
  ...clientWalkTests,
  ...upgradeTests,
  crowd,
  partitions,
  ...httpTests,
  publicPages,
  power,
  rolling,
  sandboxes,
  soak,
  coverage,
  mutation,
];

interface Outcome {
  readonly stressTest: StressTest;
  readonly rounds: number;
  readonly seconds: string;
  readonly figures: string;
  readonly passed: boolean;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    // The rounds of the soak.
    minutes: { type: 'string' },
    seed: { type: 'string' },
  },
});
const seed = wholeNumber('seed', values.seed) ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
const roundsGiven = wholeNumber('rounds', values.rounds) ?? wholeNumber('minutes', values.minutes);
const chosen = stressTests.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0)
  throw new Error(`The stress tests are ${stressTests.map(({ name }) => name).join(', ')}.`);

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} takes a whole number, not "${text}".`);
  return Number(text);
}

/** One line that is written over on a terminal, and written once a while elsewhere. */
function progressOf(name: string): (line: string) => void {
  let lastAt = performance.now();
  return (line) => {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${name}: ${line}`);
    else if (performance.now() - lastAt > 10_000) {
      lastAt = performance.now();
      process.stdout.write(`  ${name}: ${line}\n`);
    }
  };
}

async function runTest(stressTest: StressTest): Promise<Outcome> {
  const { name } = stressTest;
  const rounds = roundsGiven ?? stressTest.rounds;
  process.stdout.write(`▶ npm run stress -- --only ${name} --rounds ${rounds} --seed ${seed}\n`);
  const from = performance.now();
  let passed = true;
  let figures: string;
  try {
    const measured = await stressTest.run({ rounds, seed, progress: progressOf(name) });
    figures = Object.entries(measured)
      .map(([what, value]) => `${what}: ${value.toLocaleString('en')}`)
      .join('; ');
  } catch (error) {
    passed = false;
    figures = error instanceof Error ? [error.message, error.cause ?? ''].join(' ') : String(error);
  }
  const seconds = ((performance.now() - from) / 1_000).toFixed(1);
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  process.stdout.write(`${passed ? '✔' : '✘'} ${name}, ${seconds} s. ${figures}\n\n`);
  return { stressTest, rounds, seconds, figures, passed };
}

const outcomes: Outcome[] = [];
for (const stressTest of chosen) outcomes.push(await runTest(stressTest));

const rows = outcomes.map(({ stressTest, rounds, seconds, figures, passed }) =>
  [
    '',
    passed ? 'holds' : '**broken**',
    stressTest.promise,
    rounds,
    seconds,
    figures.replace(/\s*[|\n]\s*/g, ' '),
    '',
  ]
    .join(' | ')
    .trim(),
);
const failed = outcomes.filter(({ passed }) => !passed).length;
process.stdout.write(
  `## Stress tests, seed ${seed}\n\n` +
    '| | Promise | Rounds | Seconds | Figures |\n|---|---|---|---|---|\n' +
    `${rows.join('\n')}\n\n${outcomes.length - failed} passed, ${failed} failed\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
