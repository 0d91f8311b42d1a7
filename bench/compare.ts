/** Runs the comparison: starts all contenders and runs the rounds. */

import { forgetLimits } from './cluster.ts';
import type { Contender, RunningContender } from './contender.ts';
import { floor, floorContender, nginxContender, recordAnswers } from './limits.ts';
import { connections } from './load.ts';
import { readConditions } from './machine.ts';
import { animalCount, type Options } from './options.ts';
import { preparePeerData } from './peer-data.ts';
import { createPeerContender, installPeers, peerNames } from './peers.ts';
import { runRounds } from './rounds.ts';
import { scenarios } from './scenarios.ts';
import { embeddedStore, serviceContender } from './service.ts';
import type { Results } from './summary.ts';
import { progress } from './terminal.ts';

export async function compare(options: Options, folder: string): Promise<Results> {
  if (options.only.some((name) => peerNames.includes(name)) || Bun.which('wrk') === null) installPeers();
  await using servers = new AsyncDisposableStack();
  const running = await startAll(options, folder, servers);
  const cases = scenarios
    .filter(({ name }) => options.loads.includes(name))
    .flatMap((scenario) => running.map((one) => ({ scenario, running: one })));
  const samples = await runRounds(options, folder, animalCount, cases);
  return {
    ...readConditions(options, folder),
    connections,
    animals: animalCount,
    entrants: running.map(({ contender, server }) => {
      const { start: _, ...entrant } = contender;
      const { firstAnswerMs } = server;
      return { ...entrant, firstAnswerMs, peakMemoryMb: server.usage().peakMemoryMb };
    }),
    samples,
  };
}

/** Starts the service first, because the baseline servers replay responses recorded from it. */
async function startAll(
  { only, rounds, cluster }: Options,
  folder: string,
  servers: AsyncDisposableStack,
): Promise<RunningContender[]> {
  const begin = async (contender: Contender): Promise<RunningContender> => {
    progress(`starting ${contender.title}`);
    const started = await contender.start();
    servers.use(started.server);
    return { contender, ...started };
  };
  // Each run with 429 responses needs a new key: one run for the recording, and up to two runs per round.
  const refusals = 2 * rounds + 1;
  const service = await begin(
    serviceContender({
      name: 'animal-store',
      title: 'Animal Store',
      store: embeddedStore(folder, 'animal-store'),
      animals: animalCount,
      refusals,
    }),
  );
  const answers = await recordAnswers(service);
  const running = [service];
  if (only.includes('nginx') && Bun.which('nginx') !== null)
    running.push(await begin(nginxContender(folder, answers)));
  if (only.includes(floor)) running.push(await begin(floorContender(folder, answers)));
  if (cluster !== undefined) {
    servers.defer(() => forgetLimits(cluster));
    const title = 'Animal Store on PostgreSQL and Redis';
    running.push(
      await begin(
        serviceContender({ name: 'cluster', title, store: cluster, animals: animalCount, refusals }),
      ),
    );
  }
  const peers = only.filter((name) => peerNames.includes(name));
  if (peers.length > 0) {
    const data = await preparePeerData(folder, animalCount);
    for (const name of peers) running.push(await begin(createPeerContender(name, data)));
  }
  return running;
}
