import type { Command } from 'commander';
import type { AdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { factNames, factText } from '../../domain/store-facts.ts';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';
import { grouped, instant, say, sayJson, styled, table } from '../terminal.ts';

/** Facts about the work of a process, of which this one has done none. */
const factsOfProcess: ReadonlySet<string> = new Set([
  ...['groups', 'units', 'seconds', 'waiting'],
  ...['poolConnections', 'poolBusy', 'poolWaiting', 'postgresStatements', 'postgresSeconds'],
  ...['redisRequests', 'redisSeconds'],
]);

export function addStatus(program: Command, config: ReadConfig): void {
  addCommand(program, 'status', {
    summary: 'Show how the store is, and which instances of the service use it.',
    examples: ['animal-store status', 'animal-store status --json'],
    notes: ['What is shown is what this command sees. To ask a running service, use its /readyz.'],
  })
    .addOption(jsonOption())
    .action((options) => showStatus(config(), options));
}

type EventMark = { readonly id: number; readonly timestamp: string } | null;

/** What the store says of its events. Whether more are recorded is a setting of the service. */
async function eventsIn({ store, clock }: AdminServices, config: Config) {
  const { eventLogOf } = await import('../../operations/admin/events.ts');
  const { lastId, oldest, newest, perHour } = await eventLogOf(store.events, config.events, clock);
  const mark = (event: typeof oldest): EventMark => event && { ...event, id: Number(event.id) };
  return { lastId: Number(lastId), oldest: mark(oldest), newest: mark(newest), perHour };
}

async function showStatus(config: Config, { json }: { json?: true }): Promise<void> {
  const { openAdminServices } = await import('../../app/app.ts');
  await using admin = await openAdminServices(config);
  const { store } = admin;
  const facts = Object.entries(await store.facts()).filter(([name]) => !factsOfProcess.has(name));
  const events = await eventsIn(admin, config);
  const instances = await store.instances.list();
  // Last, for what was asked before may have shown that something is away.
  const troubles = store.health();
  if (json) {
    const timed = instances.map(({ startedAt, seenAt, ...instance }) => ({
      ...instance,
      startedAt: new Date(startedAt),
      seenAt: new Date(seenAt),
    }));
    return sayJson({ troubles, store: Object.fromEntries(facts), events, instances: timed });
  }
  for (const trouble of troubles) say(styled('red', trouble));
  if (troubles.length === 0) say('The store works.');
  say();
  say(
    table(
      ['STORE', ''],
      facts.map(([name, value]) => [
        factNames[name] ?? name,
        value === null ? 'unknown' : factText(name, value),
      ]),
    ),
  );
  say();
  const mark = (event: EventMark) =>
    event === null ? 'none' : `${grouped(event.id)}, ${instant(Date.parse(event.timestamp))}`;
  const { oldest, newest, perHour } = events;
  say(
    table(
      ['EVENTS', ''],
      [
        ['Oldest retained', mark(oldest)],
        ['Newest', mark(newest)],
        ['Per hour', grouped(perHour)],
      ],
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
