/** A key by its id alone, as the audit log names it: leads to its account. */
import { useEffect } from 'preact/hooks';
import { call } from '../api.ts';
import { useLoaded } from '../loaded.ts';
import { LoadFailure } from '../parts/failure.tsx';
import { Page, Waiting } from '../parts/layout.tsx';
import { goTo } from '../router.ts';

export function KeyPage({ keyId }: { keyId: string }) {
  const loaded = useLoaded(keyId, () => call('GET /keys/{keyId}', { params: { keyId } }));
  const accountId = loaded.data?.accountId;
  useEffect(() => {
    if (accountId !== undefined) goTo(`/accounts/${accountId}`, { replace: true });
  }, [accountId]);
  return (
    <Page title="Key" above={{ href: '#/accounts', text: 'Accounts' }}>
      <LoadFailure loaded={loaded} />
      {loaded.failure === undefined && <Waiting />}
    </Page>
  );
}
