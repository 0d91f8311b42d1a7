import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { factNames, factText } from '../domain/store-facts.ts';
import { iso } from '../operations/shown.ts';
import { instant, say, sayJson, styled, table } from './terminal.ts';

/** What is told of a process's own work. This command has done none. */
const ofItsProcess: ReadonlySet<string> = new Set([
  ...['groups', 'units', 'seconds', 'waiting'],
  ...['poolConnections', 'poolBusy', 'poolWaiting', 'postgresStatements', 'postgresSeconds'],
  ...['redisRequests', 'redisSeconds'],
]);

/** How the store is, as this command reaches it, and which instances of the service use it. */
export async function showStatus(config: Config, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const { store } = admin;
  const told = Object.entries(await store.facts()).filter(([name]) => !ofItsProcess.has(name));
  const instances = await store.instances.list();
  // Last, for what was asked before may have shown that something is away.
  const troubles = store.health();
  if (json) {
    const shown = instances.map(({ startedAt, seenAt, ...instance }) => ({
      ...instance,
      startedAt: iso(startedAt),
      seenAt: iso(seenAt),
    }));
    return sayJson({ troubles, store: Object.fromEntries(told), instances: shown });
  }
  for (const trouble of troubles) say(styled('red', trouble));
  if (troubles.length === 0) say('The store works.');
  say();
  say(
    table(
      ['STORE', ''],
      told.map(([name, value]) => [
        factNames[name] ?? name,
        value === null ? 'unknown' : factText(name, value),
      ]),
    ),
  );
  say();
  if (instances.length === 0) return say('No instance of the service has given a sign of life.');
  say(
    table(
      ['INSTANCE', 'VERSION', 'STARTED', 'LAST SIGN OF LIFE'],
      instances.map(({ name, version, startedAt, seenAt }) => [
        name,
        version,
        instant(startedAt),
        instant(seenAt),
      ]),
    ),
  );
}
