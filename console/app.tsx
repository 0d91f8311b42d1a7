/** Shows the page for the current address, or the sign-in page if there is no session. */
import type { ComponentChildren } from 'preact';
import { AccountPage } from './pages/account.tsx';
import { AccountsPage } from './pages/accounts.tsx';
import { AnimalsPage } from './pages/animals.tsx';
import { AuditPage } from './pages/audit.tsx';
import { BansPage } from './pages/bans.tsx';
import { CategoriesPage } from './pages/categories.tsx';
import { EventsPage } from './pages/events.tsx';
import { ImportPage } from './pages/import.tsx';
import { KeyPage } from './pages/key.tsx';
import { OperatorsPage } from './pages/operators.tsx';
import { OrdersPage } from './pages/orders.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { SystemPage } from './pages/system.tsx';
import { UsagePage } from './pages/usage.tsx';
import { WebhookPage } from './pages/webhook.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { FailureNote } from './parts/failure.tsx';
import { EmptyMessage, Page } from './parts/layout.tsx';
import { Notices } from './parts/notices.tsx';
import { SessionEnded } from './parts/session-ended.tsx';
import { Connection, Shell } from './parts/shell.tsx';
import { currentRoute } from './router.ts';
import { sessionFailure } from './session.ts';
import { hasSessionEnded, session } from './session-state.ts';

export function App() {
  return (
    <>
      {session.value === null && (
        <main class="sign-in">
          <Connection />
          {sessionFailure.value && <FailureNote failure={sessionFailure.value} />}
        </main>
      )}
      {session.value === undefined && <SignInPage />}
      {session.value && (
        // The key resets the page when another operator signs in, so that forms left open by the previous operator
        // cannot be submitted.
        <Shell key={session.value.operator}>
          <CurrentPage />
        </Shell>
      )}
      {session.value && hasSessionEnded.value && <SessionEnded />}
      <Notices />
    </>
  );
}

type Show = (id: string) => ComponentChildren;

const pages = new Map<string, Show>(
  Object.entries({
    '': () => <OverviewPage />,
    accounts: () => <AccountsPage />,
    'accounts/': (id) => <AccountPage key={id} accountId={id} />,
    'keys/': (id) => <KeyPage key={id} keyId={id} />,
    animals: () => <AnimalsPage />,
    'animals/import': () => <ImportPage />,
    categories: () => <CategoriesPage />,
    orders: () => <OrdersPage />,
    events: () => <EventsPage />,
    webhooks: () => <WebhooksPage />,
    'webhooks/': (id) => <WebhookPage key={id} webhookId={id} />,
    bans: () => <BansPage />,
    usage: () => <UsagePage />,
    audit: () => <AuditPage />,
    operators: () => <OperatorsPage />,
    system: () => <SystemPage />,
  }),
);

function CurrentPage() {
  const [name = '', id, ...more] = currentRoute.value.path;
  const isOfOne = id !== undefined && more.length === 0;
  const show = pages.get(currentRoute.value.path.join('/')) ?? (isOfOne ? pages.get(`${name}/`) : undefined);
  if (show !== undefined) return <>{show(id ?? '')}</>;
  return (
    <Page title="Page not found">
      <EmptyMessage>
        There is no page at this address. <a href="#/">Go to the overview.</a>
      </EmptyMessage>
    </Page>
  );
}
