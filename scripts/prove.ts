/**
 * The proofs that take too long for `npm test`: `npm run prove -- [--only NAME] [--rounds N | --minutes N] [--seed N]`.
 * Each says its seed, so that a failure can be repeated; a summary in Markdown and the count come last.
 */
import { parseArgs } from 'node:util';
import { clusterProofs } from '../test/prove/cluster.ts';
import { coverage } from '../test/prove/coverage.ts';
import { crowd } from '../test/prove/crowd.ts';
import { disk } from '../test/prove/disk.ts';
import { drain } from '../test/prove/drain.ts';
import { httpProofs } from '../test/prove/http.ts';
import { kill } from '../test/prove/kill.ts';
import { limits } from '../test/prove/limits.ts';
import { mutation } from '../test/prove/mutation.ts';
import { partitions } from '../test/prove/partitions.ts';
import { power } from '../test/prove/power.ts';
import type { Proof } from '../test/prove/proof.ts';
import { publicPages } from '../test/prove/public.ts';
import { rolling } from '../test/prove/rolling.ts';
import { soak } from '../test/prove/soak.ts';
import { stop } from '../test/prove/stop.ts';
import { syscalls } from '../test/prove/syscalls.ts';

const proofs: readonly Proof[] = [
  kill,
  disk,
  drain,
  stop,
  limits,
  syscalls,
  ...clusterProofs,
  crowd,
  partitions,
  ...httpProofs,
  publicPages,
  power,
  rolling,
  soak,
  coverage,
  mutation,
];

interface Outcome {
  readonly proof: Proof;
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
const chosen = proofs.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) throw new Error(`The proofs are ${proofs.map(({ name }) => name).join(', ')}.`);

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

async function prove(proof: Proof): Promise<Outcome> {
  const { name } = proof;
  const rounds = roundsGiven ?? proof.rounds;
  process.stdout.write(`▶ npm run prove -- --only ${name} --rounds ${rounds} --seed ${seed}\n`);
  const from = performance.now();
  let passed = true;
  let figures: string;
  try {
    const measured = await proof.run({ rounds, seed, progress: progressOf(name) });
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
  return { proof, rounds, seconds, figures, passed };
}

const outcomes: Outcome[] = [];
for (const proof of chosen) outcomes.push(await prove(proof));

const rows = outcomes.map(({ proof, rounds, seconds, figures, passed }) =>
  [
    '',
    passed ? 'holds' : '**broken**',
    proof.promise,
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
  `## Proofs, seed ${seed}\n\n` +
    '| | Promise | Rounds | Seconds | Figures |\n|---|---|---|---|---|\n' +
    `${rows.join('\n')}\n\n${outcomes.length - failed} passed, ${failed} failed\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
