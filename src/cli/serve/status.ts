import type { Command } from 'commander';
import type { AdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import type { Concern } from '../../contract/admin/system.ts';
import { factLabel, formatFact } from '../../domain/format-fact.ts';
import { stoppedAt } from '../../operations/observability/usage-recorder.ts';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';
import {
  formatDateTime,
  formatInteger,
  formatTable,
  printJson,
  printLine,
  styleIfSupported,
} from '../terminal.ts';

/** Statistics of processes that serve requests. This command omits them. */
const processFacts: ReadonlySet<string> = new Set([
  ...['groups', 'units', 'seconds', 'waiting'],
  ...['poolConnections', 'poolBusy', 'poolWaiting', 'postgresStatements', 'postgresSeconds'],
  ...['redisRequests', 'redisSeconds'],
]);

export function addStatusCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'status', {
    summary: 'Show problems with the store, and the service instances that use it.',
    examples: ['animal-store status', 'animal-store status --json'],
    notes: [
      'Problems are listed first, most severe at the top, each with a remedy. They do not affect the exit code.',
      "This command reads the store directly, so it needs the service's SECRETS_KEY. To check a running service, use /readyz.",
    ],
  })
    .addOption(jsonOption())
    .action((options) => showStatus(config(), options));
}

/**
 * Returns the problems that the console's System page shows, except those about a running service's requests. Detects
 * failing backups from the contents of their folder.
 */
async function readConcerns(
  { store, storage, clock, webhooks }: AdminServices,
  config: Config,
): Promise<readonly Concern[]> {
  const {
    getPetSunset,
    webhooks: { secretsKeys },
  } = config;
  const [
    { createBackupOperations },
    { findConcerns, listTroubles },
    { countUndecryptable },
    { secretsConcern },
  ] = await Promise.all([
    import('../../app/backups.ts'),
    import('../../operations/observability/concerns.ts'),
    import('../../operations/webhook-secrets.ts'),
    import('../../app/secrets.ts'),
  ]);
  const { oldestAt } = await store.deliveries.backlog();
  const known = {
    ...{ store, troubles: listTroubles(store), clock, seconds: [] },
    secrets: secretsConcern(secretsKeys.length, await countUndecryptable(store, webhooks.reencryptSecret)),
    oldestPendingAgeMs: Math.max(0, clock.now() - (oldestAt ?? clock.now())),
    backups: await createBackupOperations(config, { store: storage, clock }).overdue(),
    sunsets: new Map([['getPet' as const, getPetSunset]]),
  };
  const running = (await store.instances.list()).filter(({ seenAt }) => seenAt !== stoppedAt);
  return findConcerns(known, running);
}

type EventMark = { readonly id: number; readonly timestamp: string } | null;

/**
 * Returns the range of retained events. Whether the service records events is not included, because that depends on the
 * service's settings.
 */
async function readEvents({ store, clock }: AdminServices, config: Config) {
  const { readEventLog } = await import('../../operations/admin/events.ts');
  const { lastId, oldest, newest, perHour } = await readEventLog(store.events, config.events, clock);
  const mark = (event: typeof oldest): EventMark => event && { ...event, id: Number(event.id) };
  return { lastId: Number(lastId), oldest: mark(oldest), newest: mark(newest), perHour };
}

function printConcerns(concerns: readonly Concern[]): void {
  for (const { what, remedy } of concerns) {
    printLine(styleIfSupported('red', what));
    printLine(remedy);
  }
  if (concerns.length === 0)
    printLine('No problems found in the store. `/readyz` reports problems of the running service.');
}

async function showStatus(config: Config, { json }: { json?: true }): Promise<void> {
  const { openAdminServices } = await import('../../app/app.ts');
  await using admin = await openAdminServices(config);
  const { store } = admin;
  const facts = Object.entries(await store.facts()).filter(([name]) => !processFacts.has(name));
  const events = await readEvents(admin, config);
  const instances = await store.instances.list();
  // `health` is called last, because the reads above may detect failures.
  const concerns = await readConcerns(admin, config);
  const troubles = store.health();
  if (json) {
    const timed = instances.map(({ startedAt, seenAt, ...instance }) => ({
      ...instance,
      startedAt: new Date(startedAt),
      seenAt: seenAt === stoppedAt ? null : new Date(seenAt),
    }));
    return printJson({ troubles, concerns, store: Object.fromEntries(facts), events, instances: timed });
  }
  printConcerns(concerns);
  printLine();
  printLine(
    formatTable(
      ['STORE', ''],
      facts.map(([name, value]) => [
        factLabel(name) ?? name,
        value === null ? (name.endsWith('Trouble') ? 'none' : 'unknown') : formatFact(name, value),
      ]),
    ),
  );
  printLine();
  const mark = (event: EventMark) =>
    event === null ? 'none' : `${event.id}, ${formatDateTime(Date.parse(event.timestamp))}`;
  const { oldest, newest, perHour } = events;
  printLine(
    formatTable(
      ['EVENTS', ''],
      [
        ['Oldest retained', mark(oldest)],
        ['Newest', mark(newest)],
        ['Per hour', formatInteger(perHour)],
      ],
    ),
  );
  printLine();
  if (instances.length === 0) return printLine('No instance of the service has recorded a heartbeat.');
  printLine(
    formatTable(
      ['INSTANCE', 'VERSION', 'STARTED', 'LAST HEARTBEAT'],
      instances.map(({ name, version, startedAt, seenAt }) => [
        name,
        version,
        formatDateTime(startedAt),
        seenAt === stoppedAt ? 'stopped' : formatDateTime(seenAt),
      ]),
    ),
  );
}
