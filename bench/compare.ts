/** The comparison: starts every contender, runs the rounds, and reports. */
import type { Contender, Running } from './contender.ts';
import { bunContender, nginxContender, recordAnswers } from './limits.ts';
import { connections } from './load.ts';
import { describeMachine } from './machine.ts';
import { leastDisturbed, runOnce, type Sample } from './measure.ts';
import { animalCount, type Options } from './options.ts';
import { preparePeerData } from './peer-data.ts';
import { installPeers, peerContender, peerNames } from './peers.ts';
import { publishComparison } from './publish.ts';
import { comparisonMarkdown } from './report.ts';
import { scenarios } from './scenarios.ts';
import { serviceContender } from './service.ts';
import type { Results } from './summary.ts';
import { progress } from './terminal.ts';

export async function compare(options: Options, folder: string): Promise<void> {
  if (options.only.some((name) => peerNames.includes(name)) || Bun.which('wrk') === null) installPeers();
  await using servers = new AsyncDisposableStack();
  const running = await startAll(options, folder, servers);
  const samples = await rounds(options, folder, running);
  const results: Results = {
    measuredAt: new Date().toISOString(),
    machine: describeMachine(folder),
    rounds: options.rounds,
    seconds: options.seconds,
    connections,
    animals: animalCount,
    entrants: running.map(({ contender, server }) => {
      const { start: _, ...entrant } = contender;
      const { firstAnswerMs } = server;
      return { ...entrant, firstAnswerMs, peakMemoryMb: server.usage().peakMemoryMb };
    }),
    samples,
  };
  process.stdout.write(`\n${comparisonMarkdown(results)}\n`);
  if (options.publish) await publishComparison(results);
}

/** The service first, for the limits send what it answers. */
async function startAll(
  { only, rounds }: Options,
  folder: string,
  servers: AsyncDisposableStack,
): Promise<Running[]> {
  const begin = async (contender: Contender): Promise<Running> => {
    progress(`starting ${contender.title}`);
    const started = await contender.start();
    servers.use(started.server);
    return { contender, ...started };
  };
  // One refusal is recorded, and each try of a round asks for one more.
  const service = await begin(serviceContender(folder, animalCount, 3 * rounds + 1));
  const answers = await recordAnswers(service);
  const running = [service];
  if (only.includes('nginx') && Bun.which('nginx') !== null)
    running.push(await begin(nginxContender(folder, answers)));
  if (only.includes('bun-constant')) running.push(await begin(bunContender(folder, answers)));
  const peers = only.filter((name) => peerNames.includes(name));
  if (peers.length > 0) {
    const data = await preparePeerData(folder, animalCount);
    for (const name of peers) running.push(await begin(peerContender(name, data)));
  }
  return running;
}

async function rounds(options: Options, folder: string, all: readonly Running[]): Promise<Sample[]> {
  const samples: Sample[] = [];
  // Round 0 warms up and does not count.
  for (let round = options.careful ? 0 : 1; round <= options.rounds; round++) {
    for (const scenario of scenarios) {
      if (round === 0 && scenario.status === 429) continue;
      for (const running of all) {
        const seconds = round === 0 ? 1 : options.seconds;
        const run = { scenario, running, round, seconds, animals: animalCount, folder };
        const sample = round > 0 && options.careful ? await leastDisturbed(run) : await runOnce(run);
        if (sample === undefined) continue;
        const rate = Math.round(sample.requestsPerSecond).toLocaleString('en').padStart(8);
        const place = round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`;
        const busy = `${Math.round(sample.foreign * 100)} % others`;
        const wrong = sample.wrong > 0 ? `   ${sample.wrong} wrong` : '';
        progress(
          `${place}  ${scenario.name.padEnd(8)} ${running.contender.name.padEnd(13)} ${rate}/s  ${busy}${wrong}`,
        );
        if (round > 0) samples.push(sample);
      }
    }
  }
  return samples;
}
