/** The system page: version, store, backups, instances, logging and settings. */
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { bytes, pluralize } from '../format.ts';
import { formatFacts } from '../format-facts.ts';
import type { Label } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { LoadState } from '../parts/failure.tsx';
import { ChoiceFilter, Filters, getFilter, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, DefinitionList, EmptyMessage, Page } from '../parts/layout.tsx';
import { type Note, ServiceStatus, useOverview } from '../parts/service-status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { Backups } from './backups.tsx';
import { LoggingCard } from './logging.tsx';

type System = ResponseOf<'GET /system'>;
type Setting = System['settings'][number];
type Instance = System['instances'][number];

const everyMs = 5_000;

export function SystemPage() {
  const loaded = useLoaded('system', () => call('GET /system'), { everyMs });
  const { data } = loaded;
  return (
    <Page title="System" about="The service, its store, backups, instances and settings.">
      <LoadState loaded={loaded} lines={10} />
      <Problems system={data} />
      <div class="columns">
        {data && <Service system={data} />}
        {data && <Store store={data.store} />}
      </div>
      <Backups />
      {data && (
        <Card title="Instances" about="All instances of the service that share this store">
          <Table
            label="Instances"
            columns={instanceColumns}
            items={data.instances}
            keyOf={({ name }) => name}
          />
        </Card>
      )}
      <LoggingCard />
      {data && <Settings settings={data.settings} />}
    </Page>
  );
}

/** Shows the problems from the overview. If the overview is unavailable, shows only those of the responding process. */
function Problems({ system }: { system: System | undefined }) {
  const overview = useOverview(everyMs);
  if (overview.failure === undefined || system === undefined)
    return <ServiceStatus loaded={overview} more={system && findNotes(system)} />;
  return (
    <>
      {system.troubles.map((trouble) => (
        <p key={trouble} class="message bad">
          <Icon name="warning" />
          <span>{trouble}</span>
        </p>
      ))}
    </>
  );
}

function findNotes({ settings, store, instances }: System): Note[] {
  const settingOf = (wanted: string) => settings.find(({ name }) => name === wanted)?.value;
  const notes: Note[] = [];
  if (String(store.engine).startsWith('SQLite') && settingOf('BACKUP_EVERY') === '')
    notes.push({ text: 'No backups are scheduled, because BACKUP_EVERY is not set.' });
  const changed = settings.filter(({ source }) => source === 'changed').map(({ name }) => name);
  if (changed.length > 0)
    notes.push({ text: `Settings overridden until this instance restarts: ${changed.join(', ')}.` });
  const versions = new Set(instances.map(({ version }) => version));
  if (versions.size > 1)
    notes.push({ text: `Instances run different versions: ${[...versions].join(', ')}.` });
  return notes;
}

function Service({ system: { version, runtime, startedAt, workers, memoryBytes } }: { system: System }) {
  return (
    <Card title="Service">
      <DefinitionList
        facts={[
          ['Version', version],
          ['Runtime', runtime],
          ['Started', <Time key="started" at={startedAt} />],
          ['Workers', pluralize(workers, 'process', 'processes')],
          ['Memory', bytes(memoryBytes)],
        ]}
      />
    </Card>
  );
}

function Store({ store }: Pick<System, 'store'>) {
  return (
    <Card title="Store">
      <DefinitionList facts={formatFacts(store)} />
    </Card>
  );
}

const instanceColumns: readonly Column<Instance>[] = [
  { title: 'Name', show: ({ name }) => <span class="name">{quoteName(name)}</span> },
  { title: 'Version', show: ({ version }) => version },
  { title: 'Started', show: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Last seen', show: ({ seenAt }) => <Time at={seenAt} /> },
];

const sources: Readonly<Record<Setting['source'], Label>> = {
  default: { text: 'Default', tone: 'quiet' },
  environment: { text: 'Environment', tone: 'note' },
  changed: { text: 'Changed here', tone: 'warn' },
};

function Settings({ settings }: Pick<System, 'settings'>) {
  const [text, source] = [getFilter('setting').toLowerCase(), getFilter('source')];
  const found = settings.filter(
    (setting) =>
      `${setting.name} ${setting.about} ${setting.value}`.toLowerCase().includes(text) &&
      (source === '' || setting.source === source),
  );
  return (
    <Card title="Settings" about="Read from the environment at startup. Passwords are masked.">
      <Filters>
        <TextFilter name="setting" label="Setting" placeholder="Name, value or description" />
        <ChoiceFilter name="source" label="Source" all="Any source" words={sources} />
      </Filters>
      {found.length === 0 ? (
        <EmptyMessage>No settings match these filters.</EmptyMessage>
      ) : (
        <Table label="Settings" columns={settingColumns} items={found} keyOf={({ name }) => name} />
      )}
    </Card>
  );
}

const settingColumns: readonly Column<Setting>[] = [
  {
    title: 'Setting',
    show: ({ name, about }) => (
      <>
        <code class="name">{name}</code>
        <span class="under">{about}</span>
      </>
    ),
  },
  {
    title: 'Value',
    show: ({ value }) => (value === '' ? <span class="about">Not set</span> : <code>{value}</code>),
  },
  { title: 'Source', show: ({ source }) => <Badge word={sources[source]} /> },
];
