import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import { download } from '../download.ts';
import { changedOperations } from '../labels.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Button } from '../parts/button.tsx';
import { LoadState } from '../parts/failure.tsx';
import { ChoiceFilter, Filters, TextFilter } from '../parts/filters.tsx';
import { Card, Page } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { Pager } from '../parts/pages.tsx';
import { currentRoute } from '../router.ts';
import { startOfDay } from '../start-of-day.ts';
import { useLoaded } from '../use-loaded.ts';

const perPage = 50;

/** Filter options for actions, labeled with their names in the log. */
const operationChoices = Object.fromEntries(changedOperations.map((name) => [name, { text: name }]));

export function AuditPage() {
  const { query } = currentRoute.value;
  const filters = filtersOf(query);
  const cursor = query.get('cursor') ?? undefined;
  const load = () => callPage('GET /audit', { query: { ...filters, cursor, limit: perPage } });
  const loaded = useLoaded(query.toString(), load);
  const { data } = loaded;
  const operators = useLoaded('operators', () => call('GET /operators'));
  const actors = operators.data?.map(({ name }) => `operator:${name}`) ?? [];
  const objects = [...new Set(data?.items.map(({ object }) => object))];
  const [isExporting, setIsExporting] = useState(false);
  const save = async () => {
    setIsExporting(true);
    try {
      await download('/audit/export', 'audit.ndjson', { query: filters });
    } catch (error) {
      notify((error as Error).message, 'bad');
    } finally {
      setIsExporting(false);
    }
  };
  return (
    <Page
      title="Audit log"
      about="Changes made by operators in the console, the admin API and the command line."
      actions={
        <Button icon="download" isBusy={isExporting} onClick={save}>
          Export
        </Button>
      }
    >
      <Filters>
        <ChoiceFilter name="operation" label="Action" all="Any action" words={operationChoices} />
        <TextFilter name="actor" label="Operator" placeholder="operator:anna" options={actors} />
        <TextFilter name="account" label="Account and its keys" placeholder="Any id" kind="digits" />
        <TextFilter name="object" label="Object" placeholder="key:3" options={objects} />
        <TextFilter name="from" label="From" kind="date" />
        <TextFilter name="to" label="To" kind="date" />
      </Filters>
      <LoadState loaded={loaded} lines={8} />
      {data && (
        <Card>
          <AuditList
            entries={data.items}
            empty={query.size > 0 ? 'No entries match these filters.' : 'There are no changes yet.'}
          />
        </Card>
      )}
      <Pager loaded={loaded} />
    </Page>
  );
}

/** Converts the filters in the address to API filters, and dates to timestamps. */
function filtersOf(query: URLSearchParams) {
  return {
    operation: query.get('operation') ?? undefined,
    actor: query.get('actor') ?? undefined,
    account: query.get('account') ?? undefined,
    object: query.get('object') ?? undefined,
    since: startOfDay(query.get('from'), 0),
    until: startOfDay(query.get('to'), 1),
  };
}
