/**
 * Runs the stress tests, which take too long for `npm test`: `npm run stress -- [--only NAME] [--rounds N] [--minutes
 * N] [--seed N]`. `--help` lists the tests. Prints the seed of each test, so that a failure can be reproduced. The
 * output ends with a summary in Markdown and the number of passed and failed tests.
 */
import { parseArgs } from 'node:util';
import { eventTests } from '../test/stress/events.ts';
import { faultTests } from '../test/stress/faults.ts';
import { hostile } from '../test/stress/hostile-json.ts';
import { invalid } from '../test/stress/invalid.ts';
import { json } from '../test/stress/json.ts';
import { limitLaw } from '../test/stress/limit-model.ts';
import { limitsTests } from '../test/stress/limits.ts';
import { onceTests } from '../test/stress/once.ts';
import { overloaded } from '../test/stress/overload.ts';
import { partitions } from '../test/stress/partitions.ts';
import { publicPages } from '../test/stress/public.ts';
import { attacks } from '../test/stress/raw-attacks.ts';
import { rolling } from '../test/stress/rolling.ts';
import { secrets } from '../test/stress/secrets.ts';
import { slow } from '../test/stress/slow-clients.ts';
import { soak } from '../test/stress/soak.ts';
import type { StressTest } from '../test/stress/stress-test.ts';
import { upgrade } from '../test/stress/upgrade.ts';
import { walkTests } from '../test/stress/walk.ts';
import { webhookTests } from '../test/stress/webhooks.ts';

const stressTests: readonly StressTest[] = [
  ...faultTests,
  ...onceTests,
  ...eventTests,
  ...webhookTests,
  ...walkTests,
  ...limitsTests,
  limitLaw,
  invalid,
  json,
  hostile,
  attacks,
  slow,
  secrets,
  overloaded,
  publicPages,
  partitions,
  rolling,
  upgrade,
  soak,
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
    // Alias of `rounds` for the soak test.
    minutes: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  for (const { name, promise } of stressTests) process.stdout.write(`${name.padEnd(16)} ${promise}\n`);
  process.exit(0);
}
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

/** Splits a name such as `slowestStartMs` into words. */
function inWords(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/**
 * Returns a function that shows progress: by updating one line on a terminal, or by printing occasional lines
 * otherwise.
 */
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
      .map(([what, value]) => `${inWords(what)}: ${value.toLocaleString('en')}`)
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
