/** Runs the rounds. Each round runs all cases once, sequentially. */
import { type Measurable, runLeastDisturbed, runOnce, type Sample } from './measure.ts';
import type { Options } from './options.ts';
import type { Scenario } from './scenarios.ts';
import { progress } from './terminal.ts';

export interface Case {
  readonly scenario: Scenario;
  readonly running: Measurable;
}

const warmUpSeconds = 1;
/** Extra time per round for idle waits and repeated runs, as a fraction of the round's duration. */
const patiencePart = 0.5;

export async function runRounds(
  { rounds, seconds, careful }: Options,
  folder: string,
  animals: number,
  cases: readonly Case[],
): Promise<Sample[]> {
  const samples: Sample[] = [];
  if (careful) {
    progress('warming up');
    for (const { scenario, running } of cases) {
      const warm = { scenario, running, round: 0, seconds: warmUpSeconds, animals, folder };
      if (scenario.status !== 429) await runOnce(warm);
    }
  }
  for (let round = 1; round <= rounds; round++) {
    const patience = { ms: cases.length * seconds * 1_000 * patiencePart };
    for (const { scenario, running } of cases) {
      const run = { scenario, running, round, seconds, animals, folder };
      const sample = await (careful ? runLeastDisturbed(run, patience) : runOnce(run));
      if (sample === undefined) continue;
      samples.push(sample);
      progress(`round ${round} of ${rounds}  ${sentence(sample)}`);
    }
  }
  return samples;
}

function sentence({ scenario, contender, requestsPerSecond, foreign, wrong }: Sample): string {
  const rate = Math.round(requestsPerSecond).toLocaleString('en').padStart(8);
  const others = foreign > 0.01 ? `  others took ${Math.round(foreign * 100)} % of a core` : '';
  return `${scenario.padEnd(8)} ${contender.padEnd(18)} ${rate}/s${others}${wrong > 0 ? `  ${wrong} wrong` : ''}`;
}
