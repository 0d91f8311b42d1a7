import { useState } from 'preact/hooks';
import { callPage } from '../api.ts';
import { download } from '../download.ts';
import { useLoaded } from '../loaded.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Button } from '../parts/button.tsx';
import { LoadFailure } from '../parts/failure.tsx';
import { Filters, TextFilter } from '../parts/filters.tsx';
import { Card, Page, Waiting } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { Pager } from '../parts/pages.tsx';
import { place } from '../router.ts';

const perPage = 50;

export function AuditPage() {
  const { query } = place.value;
  const filters = filtersOf(query);
  const cursor = query.get('cursor') ?? undefined;
  const load = () => callPage('GET /audit', { query: { ...filters, cursor, limit: perPage } });
  const loaded = useLoaded(query.toString(), load);
  const { data, failure } = loaded;
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
      about="Who changed what and when: here, through the admin API, and on the command line."
      actions={
        <Button icon="download" isBusy={isExporting} onClick={save}>
          Export
        </Button>
      }
    >
      <Filters>
        <TextFilter name="actor" label="Who" placeholder="operator:anna" />
        <TextFilter name="account" label="Account and its keys" placeholder="Any id" kind="digits" />
        <TextFilter name="object" label="What" placeholder="key:3" />
        <TextFilter name="from" label="From" kind="date" />
        <TextFilter name="to" label="Up to and with" kind="date" />
      </Filters>
      <LoadFailure loaded={loaded} />
      {data === undefined && failure === undefined && <Waiting lines={8} />}
      {data && (
        <Card>
          <AuditList
            entries={data.items}
            empty={query.size > 0 ? 'Nothing fits these filters.' : 'Nobody has changed anything yet.'}
          />
        </Card>
      )}
      <Pager loaded={loaded} />
    </Page>
  );
}

/** The filters of the address as the API takes them: days become instants. */
function filtersOf(query: URLSearchParams) {
  return {
    actor: query.get('actor') ?? undefined,
    account: query.get('account') ?? undefined,
    object: query.get('object') ?? undefined,
    since: startOf(query.get('from'), 0),
    until: startOf(query.get('to'), 1),
  };
}

/** The instant at which a day begins, where the reader is; `later` days after it. */
function startOf(day: string | null, later: number): string | undefined {
  if (day === null) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // Not a day: somebody wrote the address by hand.
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}
