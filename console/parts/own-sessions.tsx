/** Lists the signed-in operator's sessions, each with a button to end it. */
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { toFailure, useLoaded } from '../use-loaded.ts';
import { Button } from './button.tsx';
import { LoadState } from './failure.tsx';
import { Card } from './layout.tsx';
import { notify } from './notices.tsx';
import { type Column, Table } from './table.tsx';
import { Time } from './time.tsx';

type Session = ResponseOf<'GET /sessions'>[number];

const everyMs = 30_000;

export function OwnSessions() {
  const loaded = useLoaded('sessions', () => call('GET /sessions'), { everyMs });
  const end = async ({ id: sessionId }: Session) => {
    try {
      await call('DELETE /sessions/{sessionId}', { params: { sessionId } });
      notify('Ended the session.');
      loaded.reload();
    } catch (error) {
      notify(toFailure(error).message, 'bad');
    }
  };
  return (
    <Card title="Your sessions" about="Browsers in which you are signed in. Sessions end after 12 hours.">
      <LoadState loaded={loaded} />
      {loaded.data && loaded.data.length > 0 && (
        <Table label="Your sessions" columns={columnsOf(end)} items={loaded.data} keyOf={({ id }) => id} />
      )}
    </Card>
  );
}

function columnsOf(end: (session: Session) => unknown): readonly Column<Session>[] {
  return [
    {
      title: 'Started',
      show: ({ startedAt, isCurrent }) => (
        <>
          <Time at={startedAt} />
          {isCurrent && <span class="under">This session</span>}
        </>
      ),
    },
    { title: 'Last used', show: ({ usedAt }) => <Time at={usedAt} /> },
    { title: 'Ends', show: ({ expiresAt }) => <Time at={expiresAt} isAhead /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (session) =>
        session.isCurrent ? null : (
          <Button label={`End session ${session.id}`} onClick={() => end(session)}>
            End session
          </Button>
        ),
    },
  ];
}
